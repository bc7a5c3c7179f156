import OpenAI from 'openai'

const client = new OpenAI({ baseURL: process.argv[2] + '/v1', apiKey: 'key' })
const answer = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'how much?' }] })
console.log(answer.choices[0].message.content)
