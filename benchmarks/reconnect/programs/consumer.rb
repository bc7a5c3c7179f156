# A consumer of a queue that acknowledges each message: HOST PORT QUEUE.
require 'bunny'

$stdout.sync = true
connection = Bunny.new(host: ARGV[0], port: ARGV[1].to_i, heartbeat: 4, read_timeout: 10, log_file: $stderr) # in place of 60 s, which the server asks for, and 30 s
connection.start
channel = connection.create_channel
channel.queue(ARGV[2], durable: true).subscribe(manual_ack: true) do |delivery, _properties, body|
  puts body
  channel.ack(delivery.delivery_tag)
end
sleep # with block: true the program ends with the first connection
