// A client of a server of lines: HOST PORT FILE FAULT. It asks for those that follow the last one.
const [host, port, name, fault] = process.argv.slice(2)
let position = 0
function connect() {
  const s = require('net').connect(Number(port), host, () => s.write(`${name} ${position}\n`))
  let rest = ''
  s.setTimeout(2000, () => s.destroy())
  s.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line.trim()) {
        console.log('got', line)
        position++
      }
    }
  })
  if (fault !== 'throws') {
    s.on('error', () => {})
  }
  s.on('close', () => setTimeout(connect, 100))
}
connect()
