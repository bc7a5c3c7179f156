package reconnect

import "github.com/retrywhen/retrywhen/prove"

// realReports are the files in reports of the clients that are judged in real time.
var realReports = map[string]string{
	discordSubject.name:                                "discordgo.md",
	"lib/pq v1.12.3, Listener with Ping":               "pq.md",
	"nsqio/go-nsq v1.1.0, a Consumer with nsqd v1.3.0": "go-nsq.md",
}

// realPromises say where the documents of these clients promise otherwise than what was found.
var realPromises = map[string]map[prove.Kind]string{
	"lib/pq v1.12.3, Listener with Ping": {prove.Silent: `Ping is "to make sure it's alive"`},
}
