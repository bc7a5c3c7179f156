import axios from 'axios'
import axiosRetry from 'axios-retry'

axiosRetry(axios, { retries: 3, retryDelay: axiosRetry.exponentialDelay })
console.log(JSON.stringify((await axios.get(process.argv[2] + '/price')).data))
