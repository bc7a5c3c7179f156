// A client of a feed that it resumes: ADDRESS.
const ReconnectingWebSocket = require('reconnecting-websocket')
const WebSocket = require('ws')

let last = 0
const socket = new ReconnectingWebSocket(`ws://${process.argv[2]}/`, [], { WebSocket })
socket.onopen = () => socket.send(JSON.stringify({ subscribe_after: last }))
socket.onmessage = (message) => {
  const event = JSON.parse(message.data)
  if (event.id) {
    last = event.id
    console.log(event.data)
  }
}
socket.onerror = () => {}
