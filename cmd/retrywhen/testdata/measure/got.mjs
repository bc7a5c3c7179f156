import got from 'got'

console.log(await got(process.argv[2] + '/price').text())
