# A subscriber at quality of service 1, whose session the broker keeps: HOST PORT NAME.
import sys
import paho.mqtt.client as mqtt

def on_connect(client, userdata, flags, rc):
    client.subscribe(sys.argv[3], qos=1)

def on_message(client, userdata, message):
    print(message.payload.decode())

client = mqtt.Client(client_id=sys.argv[3], clean_session=False)
client.on_connect, client.on_message = on_connect, on_message
client.connect(sys.argv[1], int(sys.argv[2]), keepalive=5)  # in place of 60 s
client.loop_forever()
