// Turns the catalogue of models.dev (MIT) into the files under
// ../data/abilities, which the Go package embeds: sizes of models, and what
// they can do.
//
// models.dev publishes no package of its own. The npm package
// opencode-linux-x64 (MIT, of the same people) is a program that carries the
// whole catalogue as an object literal; this script reads it from there, as
// data: nothing of the program is run. The file that https://models.dev/api.json
// answers with does as well.
//
//     node gen/abilities.mjs PACKAGE_DIRECTORY YYYY-MM-DD
//     node gen/abilities.mjs api.json YYYY-MM-DD
//
// gen/refresh.sh does all that is needed for the newest version. The output
// depends on the arguments alone, so a second run changes nothing.
//
// What it does to the data
// - Providers are those of SHEETS: the ones that the price data or the
//   provider catalogue know, under the id that the price data has for them.
// - Kept are the models that read text and write text: no embeddings, no
//   makers of images or speech.
// - An ability is "yes", "no", or in neither list when it is not known:
//   images, audio: whether the model takes them in;
//   documents: yes when it takes PDF; no when it takes neither files nor
//     images. In between lies what some services take and the catalogue does
//     not say: not known;
//   tools, reasoning: as the catalogue says, which always does;
//   structured (answers to a JSON schema): as it says, often it does not.
// - Sizes are tokens; one that is 0 there is left out. So is an output that is
//   larger than the context.
// - Prices and descriptions are dropped.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Our files and the catalogue's providers that each is made of. Where two have
// a model of the same id, the first counts.
const SHEETS = {
  'alibaba': ['alibaba'],
  'anthropic': ['anthropic'],
  'arcee': ['arcee'],
  'aws': ['amazon-bedrock'],
  'azure': ['azure', 'azure-cognitive-services'],
  'baseten': ['baseten'],
  'cerebras': ['cerebras'],
  'cloudflare': ['cloudflare-workers-ai'],
  'cohere': ['cohere'],
  'deepseek': ['deepseek'],
  'fireworks': ['fireworks-ai'],
  'github-copilot': ['github-copilot'],
  'google': ['google'],
  'groq': ['groq'],
  'huggingface': ['huggingface'],
  'minimax': ['minimax'],
  'mistral': ['mistral'],
  'modal': ['modal'],
  'moonshotai': ['moonshotai'],
  'novita': ['novita-ai'],
  'nvidia': ['nvidia'],
  'openai': ['openai'],
  'openrouter': ['openrouter'],
  'ovhcloud': ['ovhcloud'],
  'perplexity': ['perplexity'],
  'together': ['togetherai'],
  'vertex': ['google-vertex'],
  'x-ai': ['xai'],
  'zai': ['zai'],
  'zhipuai': ['zhipuai'],
}

// What a file keeps of them, where that is not all: on Vertex, models of other
// vendors stand at other addresses, and speak other wire formats.
const OWN = { 'vertex': /^gem/ }

const LICENCE = `MIT License

Copyright (c) 2025 models.dev

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

// Where the catalogue begins: an object whose first member is a provider, which
// repeats its id and lists its environment variables.
const BEGIN = /\{(?:(["'])([\w.-]+)\1|([A-Za-z_$][\w$]*)):\{["']?id["']?:["']([\w.-]+)["'],["']?env["']?:\[/g

function begin(text) {
  for (const m of text.matchAll(BEGIN)) if ((m[2] ?? m[3]) === m[4]) return m.index
  throw new Error('no catalogue of models.dev is in that file')
}

// Reads one JSON value, or an object literal as minifiers write it: names
// without quotes, any quotes, !0 and !1, numbers as short as they go. It is a
// reader, not eval: whatever else stands there is an error.
function read(text, start) {
  let at = start
  const fail = () => { throw new Error(`not a value of the catalogue: ${JSON.stringify(text.slice(at, at + 60))}`) }
  const space = () => { while (/\s/.test(text[at])) at++ }
  const take = (re) => {
    re.lastIndex = at
    const m = re.exec(text)
    if (!m) fail()
    at += m[0].length
    return m
  }
  const next = (close, item) => {
    for (at++, space(); text[at] !== close;) {
      item()
      space()
      if (text[at] === ',') { at++; space() } else if (text[at] !== close) fail()
    }
    at++
  }
  const string = () => {
    const body = take(/(["'`])((?:[^\\]|\\[^])*?)\1/y)[2]
    return body.replace(/\\(u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[^])/gi, (_, e) =>
      e.length > 1 ? String.fromCodePoint(parseInt(e.replace(/[ux{}]/g, ''), 16)) : { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }[e] ?? e)
  }
  const value = () => {
    space()
    if (text[at] === '{') {
      const object = {}
      next('}', () => {
        const name = /["'`]/.test(text[at]) ? string() : take(/[\w$]+/y)[0]
        space()
        take(/:/y)
        object[name] = value()
      })
      return object
    }
    if (text[at] === '[') {
      const list = []
      next(']', () => list.push(value()))
      return list
    }
    if (/["'`]/.test(text[at])) return string()
    const word = take(/![01]|true|false|null|-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/iy)[0]
    if (word === 'null') return null
    if (/^[!tf]/.test(word)) return word === '!0' || word === 'true'
    return Number(word)
  }
  return [value(), at]
}

const ABILITIES = ['images', 'documents', 'audio', 'tools', 'structured', 'reasoning']

function abilities(m) {
  const takes = (kind) => m.modalities.input.includes(kind)
  return {
    images: takes('image'),
    documents: takes('pdf') || (m.attachment || takes('image') ? undefined : false),
    audio: takes('audio'),
    tools: m.tool_call,
    structured: m.structured_output,
    reasoning: m.reasoning,
  }
}

function size(n) {
  if (n === undefined || n === null || n === 0) return undefined
  if (!Number.isSafeInteger(n) || n < 0) throw new Error(`not a number of tokens: ${n}`)
  return n
}

function chats(m) {
  return m.modalities.input.includes('text') && m.modalities.output.includes('text') && !/embed|rerank/i.test(`${m.id} ${m.family}`)
}

function convert(m) {
  if (!/^[\x21-\x7e]+$/.test(m.id)) throw new Error(`not a model's name: ${m.id}`)
  const can = abilities(m)
  const context = size(m.limit.context)
  const output = size(m.limit.output)
  return {
    id: m.id,
    context,
    output: context && output > context ? undefined : output,
    yes: ABILITIES.filter((a) => can[a] === true),
    no: ABILITIES.filter((a) => can[a] === false),
    deprecated: m.status === 'deprecated' || undefined,
  }
}

function sheet(catalogue, providers, own = /./) {
  const models = {}
  for (const id of providers) {
    if (!catalogue[id]) throw new Error(`the catalogue has no provider ${id}`)
    for (const m of Object.values(catalogue[id].models)) {
      if (chats(m) && own.test(m.id)) models[m.id.toLowerCase()] ??= convert(m)
    }
  }
  return Object.keys(models).sort().map((name) => models[name])
}

function main([from, day]) {
  if (!from || !/^\d{4}-\d{2}-\d{2}$/.test(day ?? '')) {
    console.error('usage: node abilities.mjs PACKAGE_DIRECTORY|FILE YYYY-MM-DD')
    process.exit(2)
  }
  const whole = statSync(from).isDirectory()
  const manifest = whole ? JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) : { name: 'api.json', version: day }
  const text = readFileSync(whole ? join(from, 'bin', 'opencode') : from, 'latin1')
  const start = begin(text)
  const [catalogue, end] = read(text, start)

  const data = join(dirname(fileURLToPath(import.meta.url)), '..', 'data')
  rmSync(join(data, 'abilities'), { recursive: true, force: true })
  mkdirSync(join(data, 'abilities'), { recursive: true })
  const counts = {}
  for (const [id, providers] of Object.entries(SHEETS)) {
    const models = sheet(catalogue, providers, OWN[id])
    counts[id] = models.length
    writeFileSync(join(data, 'abilities', `${id}.json`), `{"id":${JSON.stringify(id)},"models":[\n${models.map((m) => JSON.stringify(m)).join(',\n')}\n]}\n`)
  }
  const index = {
    source: 'models.dev',
    package: manifest.name,
    version: manifest.version,
    day,
    sha256: createHash('sha256').update(text.slice(start, end), 'latin1').digest('hex'),
    models: Object.values(counts).reduce((a, b) => a + b, 0),
    providers: counts,
  }
  writeFileSync(join(data, 'abilities.json'), JSON.stringify(index, null, 1) + '\n')
  writeFileSync(join(data, 'abilities', 'NOTICE'), `The data in this directory is derived from the catalogue of models.dev,\nhttps://models.dev, as ${manifest.name} ${manifest.version} has it, under this licence:\n\n${LICENCE}`)
}

main(process.argv.slice(2))
