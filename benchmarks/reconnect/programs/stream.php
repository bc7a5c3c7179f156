<?php // A reader of a stream of Redis that asks for what follows the last entry: HOST PORT STREAM.
$redis = new Redis();
$redis->connect($argv[1], (int) $argv[2], 2.5, null, 0, 5);
$redis->setOption(Redis::OPT_BACKOFF_ALGORITHM, Redis::BACKOFF_ALGORITHM_DECORRELATED_JITTER);
$redis->setOption(Redis::OPT_BACKOFF_BASE, 500);
$redis->setOption(Redis::OPT_BACKOFF_CAP, 750);
$last = '0';
while (true) {
    try {
        foreach ($redis->xRead([$argv[3] => $last], -1, 2000)[$argv[3]] ?? [] as $id => $entry) {
            echo $entry['event'], "\n";
            $last = $id;
        }
    } catch (RedisException $e) { // the next command connects again
    }
}
