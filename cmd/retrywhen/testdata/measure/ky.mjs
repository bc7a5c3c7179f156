import ky from 'ky'

console.log(await ky(process.argv[2] + '/price').text())
