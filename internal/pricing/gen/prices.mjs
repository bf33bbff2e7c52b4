// Turns the price data of the npm package @pydantic/genai-prices (MIT) into
// the files under ../data, which the Go package embeds.
//
//     node gen/prices.mjs PACKAGE_DIRECTORY YYYY-MM-DD
//
// gen/refresh.sh does all that is needed for the newest version. Then run the
// tests and read the diff: a model is a line. The output depends on the
// arguments alone, so a second run changes nothing.
//
// What it does to the data
// - A price becomes a decimal string: the shortest decimal that is the very
//   number of the source. No binary fraction is ever written.
// - Match rules become lower case, as the source compares without regard to
//   case. A regular expression that Go cannot run stops the script, but for
//   the one form "^(?!.*X)", which becomes {"not": {"regex": "X"}}.
// - A tier's "start" becomes "above": it is exclusive in the source.
// - Times of day become UTC.
// - A model without any price is "free" only when its name ends in ":free" or
//   it is in the list FREE below. Otherwise it stays unpriced, not free.
// - "name" is a name that finds the model, where its id does not.
// - Descriptions, comments and usage extractors are dropped.
//
// ../data/supplement.json is written by hand and left alone, the vendors that it adds
// among it. A test says which of its entries and vendors the new data makes superfluous.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Models that the source lists without a price because their vendor says that
// they cost nothing.
const FREE = new Set([
  'github-copilot/gpt-3.5-turbo', // included in the subscription
  'github-copilot/gpt-4.1',
  'github-copilot/gpt-4o',
  'github-copilot/gpt-4o-mini',
  'google/gemma-3', // free of charge on the Gemini API, no paid tier
  'google/gemma-3n',
  'google/gemma-4-26b-a4b-it',
  'google/gemma-4-31b-it',
  'openai/moderation', // free of charge
])

function decimal(x) {
  if (typeof x !== 'number' || !Number.isFinite(x) || x < 0) throw new Error(`not a price: ${x}`)
  const [digits, exponent = '0'] = String(x).split('e')
  const [whole, frac = ''] = digits.split('.')
  const e = Number(exponent)
  if (e > 0) return whole + frac.padEnd(e, '0').slice(0, e) + (frac.length > e ? '.' + frac.slice(e) : '')
  if (e < 0) return '0.' + whole.padStart(-e, '0') + frac
  return digits
}

function amount(v) {
  if (typeof v === 'number') return decimal(v)
  const tiers = [...v.tiers].sort((a, b) => a.start - b.start)
  return { base: decimal(v.base), tiers: tiers.map((t) => ({ above: t.start, price: decimal(t.price) })) }
}

function regex(source) {
  const without = /^\^\(\?!\.\*(.*)\)$/.exec(source)
  if (without) return { not: regex(without[1]) }
  if (/\(\?[=!<]|\\[1-9]|\\k/.test(source)) throw new Error(`regular expression beyond RE2: ${source}`)
  return { regex: source }
}

function rule(m) {
  const [[kind, value]] = Object.entries(m)
  if (kind === 'or' || kind === 'and') return { [kind]: value.map(rule) }
  if (kind === 'regex') return regex(value)
  if (!['equals', 'starts_with', 'ends_with', 'contains'].includes(kind)) throw new Error(`unknown rule: ${kind}`)
  return { [kind]: value.toLowerCase() }
}

function matches(m, name) {
  const [[kind, value]] = Object.entries(m)
  switch (kind) {
    case 'or': return value.some((x) => matches(x, name))
    case 'and': return value.every((x) => matches(x, name))
    case 'not': return !matches(value, name)
    case 'equals': return name === value
    case 'starts_with': return name.startsWith(value)
    case 'ends_with': return name.endsWith(value)
    case 'contains': return name.includes(value)
    case 'regex': return new RegExp(value).test(name)
  }
}

// A time of day with its offset, as whole seconds of the UTC day.
function timeOfDay(s) {
  const m = /^(\d{2}):(\d{2}):(\d{2})(?:Z|([+-])(\d{2}):(\d{2}))$/.exec(s)
  if (!m) throw new Error(`not a time of day in whole seconds: ${s}`)
  const offset = m[4] ? (m[4] === '+' ? 60 : -60) * (Number(m[5]) * 60 + Number(m[6])) : 0
  const t = (((Number(m[1]) * 60 + Number(m[2])) * 60 + Number(m[3]) - offset) % 86400 + 86400) % 86400
  return [t / 3600, (t / 60) % 60, t % 60].map((n) => String(Math.floor(n)).padStart(2, '0')).join(':')
}

function condition(c) {
  if (!c) return {}
  if (c.type === 'start_date' && /^\d{4}-\d{2}-\d{2}$/.test(c.start_date)) return { since: c.start_date }
  if (c.type === 'time_of_date') return { from: timeOfDay(c.start_time), to: timeOfDay(c.end_time) }
  throw new Error(`unknown constraint: ${JSON.stringify(c)}`)
}

function prices(p) {
  const list = Array.isArray(p) ? p : [{ prices: p }]
  return list
    .map((c) => ({ ...condition(c.constraint), rates: Object.fromEntries(Object.entries(c.prices).map(([k, v]) => [k, amount(v)])) }))
    .filter((c, _, all) => all.length > 1 || Object.keys(c.rates).length > 0)
}

function literals(m, kind) {
  return Object.entries(m).flatMap(([k, v]) => (k === kind ? [v] : Array.isArray(v) ? v.flatMap((x) => literals(x, kind)) : []))
}

// A name by which the provider knows the model, for those whose id in the data
// is only a heading; undefined when the id itself is found.
function callable(models, model) {
  const found = (name) => models.find((m) => matches(m.match, name.toLowerCase())) === model
  if (found(model.id)) return undefined
  const names = [model.id.replace(/^regional\./, 'us.'), ...['equals', 'starts_with', 'contains'].flatMap((k) => literals(model.match, k))]
  return names.find((name) => found(name) && !/[-:.]$/.test(name))
}

function convert(provider) {
  const models = provider.models.map((m) => ({
    id: m.id,
    name: undefined,
    match: rule(m.match),
    context: m.context_window,
    deprecated: m.deprecated || undefined,
    prices: prices(m.prices),
  }))
  for (const m of models) {
    m.name = callable(models, m)
    if (m.prices.length === 0 && (m.id.endsWith(':free') || FREE.has(`${provider.id}/${m.id}`))) m.free = true
  }
  return models
}

function render(provider) {
  const head = { id: provider.id, name: provider.name, urls: provider.pricing_urls, fallback: provider.fallback_model_providers }
  const lines = convert(provider).map((m) => JSON.stringify(m))
  return `${JSON.stringify(head).slice(0, -1)},"models":[\n${lines.join(',\n')}\n]}\n`
}

async function main([from, day]) {
  if (!from || !/^\d{4}-\d{2}-\d{2}$/.test(day ?? '')) {
    console.error('usage: node prices.mjs PACKAGE_DIRECTORY YYYY-MM-DD')
    process.exit(2)
  }
  const data = join(dirname(fileURLToPath(import.meta.url)), '..', 'data')
  const source = resolve(from, 'dist', 'index.js')
  const { waitForUpdate } = await import(pathToFileURL(source))
  const providers = [...(await waitForUpdate())].sort((a, b) => (a.id < b.id ? -1 : 1))

  rmSync(join(data, 'providers'), { recursive: true, force: true })
  mkdirSync(join(data, 'providers'), { recursive: true })
  for (const p of providers) {
    if (!/^[a-z0-9][a-z0-9_-]*$/.test(p.id)) throw new Error(`provider id is not a file name: ${p.id}`)
    writeFileSync(join(data, 'providers', `${p.id}.json`), render(p))
  }

  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
  const index = {
    source: manifest.name,
    version: manifest.version,
    day,
    sha256: createHash('sha256').update(readFileSync(source)).digest('hex'),
    models: providers.reduce((n, p) => n + p.models.length, 0),
    providers: Object.fromEntries(providers.map((p) => [p.id, p.models.length])),
  }
  writeFileSync(join(data, 'index.json'), JSON.stringify(index, null, 1) + '\n')
  const licence = readFileSync(join(from, 'LICENSE'), 'utf8')
  writeFileSync(join(data, 'NOTICE'), `The price data in this directory is derived from ${manifest.name} ${manifest.version},\nhttps://github.com/pydantic/genai-prices, under this licence:\n\n${licence}`)
}

await main(process.argv.slice(2))
