package durable

import (
	"encoding/base64"
	"strings"
)

// stage is the last token of a job's subject. A job has at most one message of each stage.
type stage string

const (
	first stage = "first" // the job was put, and not attempted yet
	again stage = "again" // the job's time has come
	later stage = "later" // a schedule: the server publishes it as again at its time
	dead  stage = "dead"  // a dead letter
	mark  stage = "mark"  // the job is done, is being attempted, or waits in a worker
)

// subject returns the subject of the job's message of the stage.
func (c *Config) subject(id string, s stage) string { return c.subjects(token(id), string(s)) }

// all returns the subject that matches all messages of the job.
func (c *Config) all(id string) string { return c.subjects(token(id), "*") }

func (c *Config) subjects(token, stage string) string {
	return "retrywhen." + c.Name + ".job." + token + "." + stage
}

// parseSubject returns the id and the stage of a job's message.
func (c *Config) parseSubject(subject string) (id string, s stage, ok bool) {
	rest, ok := strings.CutPrefix(subject, "retrywhen."+c.Name+".job.")
	if !ok {
		return "", "", false
	}
	name, last, ok := strings.Cut(rest, ".")
	if !ok {
		return "", "", false
	}
	id, ok = readToken(name)
	return id, stage(last), ok
}

// token returns the id as a token of a subject: the id itself if plain, else = and its base64.
func token(id string) string {
	if plain(id) {
		return id
	}
	return "=" + base64.RawURLEncoding.EncodeToString([]byte(id))
}

func readToken(token string) (id string, ok bool) {
	encoded, is := strings.CutPrefix(token, "=")
	if !is {
		return token, true
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(text), err == nil
}

const plainLetters = "-_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// plain reports whether the id consists of ASCII letters, digits, - and _.
func plain(id string) bool { return strings.Trim(id, plainLetters) == "" }

func (c *Config) streamName() string { return "retrywhen-" + c.Name }

// cancelSubject is the subject on which Cancel asks the workers for a job.
func (c *Config) cancelSubject() string { return "retrywhen." + c.Name + ".cancel" }
