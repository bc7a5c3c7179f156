// Package mqtt receives the messages of a topic from an MQTT broker, each at least once. The consumer acknowledges a
// message when it is done with it; what is not acknowledged comes again over the next connection.
package mqtt

import (
	"context"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/retrywhen/retrywhen/stream"
)

// Messages returns the messages of the topic, with QoS 1. configure sets the broker, the client's ID, which is the name
// of its session at the broker, and the keepalive, by which silence is found. The policy renews the connection, so paho
// does not. Messages whose acknowledgement was lost come again, with Duplicate true: those that the client had received
// when its connection broke.
//
// The consumer must call each message's Ack after its effect. The client reads nothing while the consumer works, pings
// included: if it may take longer than the ping timeout, put a Buffer after Messages, and acknowledge in the consumer:
// what the Buffer holds dies with the process.
func Messages(topic string, configure func(*mqtt.ClientOptions), policy stream.RetryHandler) stream.Stream[mqtt.Message] {
	return stream.FromCallbacks(func(ctx context.Context, push func(mqtt.Message) bool) error {
		lost := make(chan error, 1)
		options := mqtt.NewClientOptions()
		configure(options)
		options.SetCleanSession(false).SetAutoReconnect(false).SetOrderMatters(true).SetAutoAckDisabled(true)
		options.SetConnectionLostHandler(func(_ mqtt.Client, err error) { lost <- err })
		options.SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) { // of the session's messages before Subscribe, too
			push(m)
		})
		client := mqtt.NewClient(options)
		if err := done(ctx, client.Connect()); err != nil {
			return err
		}
		defer client.Disconnect(0)
		if err := done(ctx, client.Subscribe(topic, 1, nil)); err != nil {
			return err
		}
		stream.Works(ctx) // although no message may come for hours
		select {
		case err := <-lost:
			return err
		case <-ctx.Done():
			return nil
		}
	}).RetryWhen(policy)
}

func done(ctx context.Context, t mqtt.Token) error {
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
