# A client of a server of lines: HOST PORT FILE FAULT. It asks for those that follow the last one.
use strict;
use IO::Select;
use IO::Socket::INET;

my ($host, $port, $name, $fault) = @ARGV;
$| = 1;
$SIG{PIPE} = 'IGNORE';
my $position = 0;
while (1) {
    if (my $s = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port)) {
        print $s "$name $position\n";
        my $rest = '';
        while (IO::Select->new($s)->can_read(2) && sysread($s, my $chunk, 4096)) {
            $rest .= $chunk;
            while ($rest =~ s/^(.*)\n//) {
                if ($1 ne '') {
                    print "got $1\n";
                    $position++;
                }
            }
        }
    }
    select(undef, undef, undef, 0.1) unless $fault eq 'spins';
}
