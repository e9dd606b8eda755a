// An implementation of SPEC.md in JavaScript that checks every vector beside
// it: node vectors.mjs. Byte strings are hex texts, integers are BigInt.
import { createHash, createHmac } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

const P = 'glasshouse/fair/v2'
const TWO64 = 1n << 64n
const ZERO = '00'.repeat(32)

class Fault extends Error {}
const refuse = (bad, code) => { if (bad) throw new Fault(code) }

const sha = x => createHash('sha256').update(Buffer.from(x, 'hex')).digest('hex')
const hmac = (key, x) => createHmac('sha256', Buffer.from(key, 'hex')).update(Buffer.from(x, 'hex')).digest('hex')
const text = s => Buffer.from(s, 'utf8').toString('hex')
const u = (bytes, n) => BigInt(n).toString(16).padStart(2 * bytes, '0')
const u64 = n => u(8, n)
const LP = x => u(4, x.length / 2) + x
const tag = s => LP(text(P + s))

const bytesOf = s => Buffer.byteLength(s, 'utf8')
const isName = s => s !== '' && bytesOf(s) <= 128
const name = (s = '') => { refuse(!isName(s), 'bad_text'); return text(s) }
const seedOf = s => { refuse(!/^[0-9a-f]{64}$/.test(s) || s === ZERO, 'bad_seed'); return s }

const commitment = (session, seed) => sha(tag('/commit') + LP(name(session)) + LP(seedOf(seed)))

function table ({ entries = [], max, spans = [] }) {
  let items = entries.map(e => ({ id: e.id, weight: BigInt(e.weight) }))
  if (max !== undefined) {
    max = BigInt(max)
    refuse(max === 0n, 'zero_total')
    items = spans.map(s => ({ id: s.id, first: BigInt(s.first), last: BigInt(s.last) }))
    for (const s of items) refuse(s.first < 1n || s.last > max || s.first > s.last, 'bad_range')
    items.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
    let next = 1n
    for (const s of items) {
      refuse(s.first > next, 'gap')
      refuse(s.first < next, 'overlap')
      next = s.last + 1n
      s.weight = s.last - s.first + 1n
    }
    refuse(items.length > 0 && next <= max, 'gap')
  }
  refuse(items.length === 0, 'no_items')
  const seen = new Set()
  for (const it of items) {
    name(it.id)
    refuse(seen.has(it.id), 'duplicate')
    seen.add(it.id)
  }
  const total = items.reduce((sum, it) => sum + it.weight, 0n)
  refuse(total >= TWO64, 'overflow')
  refuse(total === 0n, 'zero_total')
  const hash = sha(tag('/table') + u64(items.length) + items.map(it => LP(text(it.id)) + u64(it.weight)).join(''))
  return { items, total, hash }
}

function itemAt (t, r) {
  if (r < 0n) return ''
  let sum = 0n
  for (const it of t.items) if (r < (sum += it.weight)) return it.id
  return ''
}

function transcript (v) {
  let x = LP(name(v.kind)) + LP(name(v.session))
  refuse(v.commitment === ZERO, 'bad_commitment')
  const tables = v.tables ?? []
  const contributions = v.contributions ?? []
  x += LP(v.commitment) + LP(v.config_hash) + u64(tables.length) + tables.map(LP).join('') + u64(contributions.length)
  const seen = new Set()
  for (const c of contributions) {
    const id = name(c.player)
    refuse(c.seed.length > 128, 'bad_contribution')
    refuse(seen.has(c.player), 'duplicate')
    seen.add(c.player)
    x += LP(id) + (c.operator ? '01' : '00') + LP(c.seed)
  }
  return x
}

function descriptor (d = '') {
  if (d === 'none') return ''
  let m
  if ((m = /^drand\/([0-9a-f]{64})$/.exec(d))) return LP(text('drand')) + LP(m[1])
  m = /^block\/([1-9][0-9]*)\/(0|[1-9][0-9]*)\/(.*)$/s.exec(d)
  refuse(!m || BigInt(m[1]) >= TWO64 || BigInt(m[2]) >= TWO64 || !isName(m[3]), 'bad_descriptor')
  return LP(text('block')) + LP(text(m[3])) + u64(m[1]) + u64(m[2])
}

function target (v) {
  const d = descriptor(v.descriptor)
  refuse((v.target === '0') !== (d === ''), 'bad_target')
  return d
}

function freeze (v) {
  const t = transcript(v)
  const d = target(v)
  return sha(tag('/freeze') + t + LP(d) + u64(v.target))
}

function root (v) {
  seedOf(v.seed)
  refuse(v.freeze === ZERO, 'bad_digest')
  const d = target(v)
  const b = v.beacon
  let B = '00'
  if (b) {
    refuse(d === '' || b.round !== v.target || b.randomness === ZERO, 'bad_beacon')
    if (v.descriptor.startsWith('drand/')) refuse(b.signature === '' || sha(b.signature) !== b.randomness, 'signature')
    else refuse(b.signature !== '', 'bad_beacon')
    B = '01' + LP(d) + u64(b.round) + LP(b.randomness)
  } else refuse(d !== '', 'no_beacon')
  return hmac(v.seed, tag('/root') + LP(v.freeze) + B)
}

const block = (R, label, i, j, t) => hmac(R, LP(text(label)) + u64(i) + u64(j) + u(4, t))

class Words {
  constructor (at) { this.at = at; this.used = 0 }
  static given (list = []) { return new Words(n => list[n]) }
  static path (R, label = '', i, j) {
    return new Words(n => block(R, label, i, j, Math.floor(n / 4)).slice(16 * (n % 4), 16 * (n % 4) + 16))
  }

  next () { return BigInt('0x' + this.at(this.used++)) }

  uniform (n) {
    n = BigInt(n)
    for (;;) {
      const w = this.next()
      if (w < TWO64 - TWO64 % n) return w % n
    }
  }

  roll (max) { return (this.uniform(max) + 1n).toString() }

  perm (n) {
    const a = Array.from({ length: n }, (_, k) => k)
    for (let i = n - 1; i >= 1; i--) {
      const j = Number(this.uniform(i + 1));
      [a[i], a[j]] = [a[j], a[i]]
    }
    return a
  }

  sample (n, k) {
    const a = Array.from({ length: n }, (_, e) => e)
    const out = []
    for (let i = n - 1; i >= n - k; i--) {
      if (i > 0) {
        const j = Number(this.uniform(i + 1));
        [a[i], a[j]] = [a[j], a[i]]
      }
      out.push(a[i])
    }
    return out
  }
}

const card = (pos, face, salt) => sha(tag('/card') + u64(pos) + LP(name(face)) + salt)

function draw (R, d) {
  const w = Words.path(R, d.label, d.i, d.j)
  if (d.draw === 'roll') return w.roll(d.n)
  if (d.draw === 'perm') return w.perm(Number(d.n))
  if (d.draw === 'sample') return w.sample(Number(d.n), Number(d.k))
  const t = table(d.table)
  return itemAt(t, w.uniform(t.total))
}

const ops = {
  commit: v => ({ commitment: commitment(v.session, v.seed) }),
  table: v => { const t = table(v); return { hash: t.hash, total: t.total.toString() } },
  pick: v => {
    const t = table(v)
    const w = Words.given(v.words)
    return { id: itemAt(t, w.uniform(t.total)), used: w.used }
  },
  at: v => { const t = table(v); return { ids: v.rolls.map(r => itemAt(t, BigInt(r) - 1n)) } },
  transcript: v => ({ bytes: transcript(v) }),
  freeze: v => ({ freeze: freeze(v), descriptor_bytes: descriptor(v.descriptor) }),
  root: v => ({ root: root(v) }),
  stream: v => {
    const w = Words.path(v.root, v.label, v.i, v.j)
    return { words: Array.from({ length: Number(v.count) }, () => u64(w.next())) }
  },
  uniform: v => { const w = Words.given(v.words); return { value: w.uniform(v.n).toString(), used: w.used } },
  perm: v => { const w = Words.given(v.words); return { perm: w.perm(Number(v.n)), used: w.used } },
  sample: v => { const w = Words.given(v.words); return { sample: w.sample(Number(v.n), Number(v.k)), used: w.used } },
  card: v => {
    const salt = block(v.root, 'salt', v.pos, v.deal, 0)
    return { salt, commitment: card(v.pos, v.card, salt) }
  },
  open: v => {
    refuse(BigInt(v.pos) >= BigInt(v.published.length), 'position_unknown')
    refuse(v.published[Number(v.pos)] !== card(v.pos, v.card, v.salt), 'opening_mismatch')
    return { opens: true }
  },
  drand: v => {
    const [genesis, period, round, unix] = [v.genesis, v.period, v.round, v.unix].map(BigInt)
    const due = genesis + (round - 1n) * period
    refuse(round === 0n || due >= 1n << 63n, 'bad_round')
    return { due: due.toString(), round_at: (unix < genesis ? 0n : (unix - genesis) / period + 1n).toString() }
  },
  session: v => {
    const life = { ...v, session: v.session + '#' + u64(v.epoch), descriptor: 'none', target: '0' }
    life.commitment = commitment(life.session, v.seed)
    life.contributions = [{ player: v.player, operator: false, seed: v.client ?? '' }]
    life.freeze = freeze(life)
    const R = root(life)
    const words = Array.from({ length: Number(v.plays) }, (_, p) => u64(Words.path(R, 'box', p, 0).next()))
    return { commitment: life.commitment, freeze: life.freeze, root: R, words }
  },
  game: v => {
    const life = { ...v, commitment: commitment(v.session, v.seed) }
    life.freeze = freeze(life)
    const R = root(life)
    return { commitment: life.commitment, freeze: life.freeze, root: R, results: v.draws.map(d => draw(R, d)) }
  }
}

let held = 0
let failed = 0
const folder = new URL('vectors/', import.meta.url)
for (const file of readdirSync(folder).filter(f => f.endsWith('.json')).sort()) {
  for (const v of JSON.parse(readFileSync(new URL(file, folder), 'utf8'))) {
    let want, error
    try { want = ops[v.op](v.in) } catch (e) {
      if (!(e instanceof Fault)) throw e
      error = e.message
    }
    if (isDeepStrictEqual(want, v.want) && error === v.error) held++
    else {
      failed++
      console.log(`${file}: ${v.name}: want ${JSON.stringify(v.want ?? v.error)}, got ${JSON.stringify(want ?? error)}`)
    }
  }
}
console.log(`${held} vectors hold, ${failed} do not`)
process.exit(failed === 0 && held > 0 ? 0 : 1)
