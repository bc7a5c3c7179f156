package reconnect

import "github.com/retrywhen/retrywhen/prove"

// realReports are the files in reports of the clients that are judged in real time.
var realReports = map[string]string{
	discordSubject.name:                                "discordgo.md",
	"lib/pq v1.12.3, Listener with Ping":               "pq.md",
	"nsqio/go-nsq v1.1.0, a Consumer with nsqd v1.3.0": "go-nsq.md",
}

// realDocuments are what the documents of these clients say of what was found.
var realDocuments = map[string]map[prove.Kind]string{
	"etcd/client/v3 v3.7.3, Watch without keepalive": {prove.Silent: "Documented: it is an option, DialKeepAliveTime"},
	"lib/pq v1.12.3, Listener with Ping":             {prove.Silent: `Promised otherwise: Ping is "to make sure it's alive"`},
}
