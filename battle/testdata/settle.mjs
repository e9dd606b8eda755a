// The source's settlement in the words of its own description: BigInt amounts, Maps, arrays that are filtered, sorted
// and spliced anew at every step. It is the yardstick of BenchmarkSettle, on the same battles.
//
//   node settle.mjs <input.json> [seconds]
//
// The input is {"players": [team, ...], "battles": [[[[item, cents], ...], ...], ...], "catalogue": [cents, ...]}, a
// battle being a list of rounds; the output is {"perSecond": settlements in a second of processor time, "results": [{"final": [cents, ...], "records":
// number}, ...]}.
import { readFileSync } from 'node:fs';

const input = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const seconds = Number(process.argv[3] ?? 1);

const players = input.players.map((team, i) => ({ user: `u${i}`, team }));
const teams = new Set(input.players).size;
const battles = input.battles.map((rounds) => rounds.flatMap((round, r) =>
  round.map(([item, cents], seat) => ({
    user: players[seat].user, itemId: String(item), name: `item ${item}`, image: `${item}.png`, rarity: 'COMMON',
    cents: BigInt(cents), round: r + 1,
  }))));
const catalogue = input.catalogue.map((cents, i) => ({ id: `c${i}`, name: `fill ${i}`, cents: BigInt(cents) }));

function compensation(target) {
  const picked = [];
  let left = target;
  const eligible = catalogue
    .filter((c) => c.cents > 0n && c.cents <= target + 1000n)
    .sort((a, b) => Number(b.cents) - Number(a.cents));
  while (left > 0n && picked.length < 200) {
    const best = eligible.find((c) => c.cents <= left);
    if (!best) break;
    picked.push(best);
    left -= best.cents;
  }
  return picked;
}

function settle(drops) {
  const opened = new Map(players.map((p) => [p.user, { team: p.team, cents: 0n }]));
  for (const d of drops) opened.get(d.user).cents += d.cents;
  const totals = new Map();
  for (let t = 1; t <= teams; t++) totals.set(t, 0n);
  for (const [, p] of opened) totals.set(p.team, totals.get(p.team) + p.cents);
  const ranking = [...totals.entries()].sort((a, b) => Number(b[1] - a[1]));
  const tie = ranking.filter(([, v]) => v === ranking[0][1]).length > 1;
  const winners = (tie ? players : players.filter((p) => p.team === ranking[0][0])).map((p) => p.user);

  const pot = drops.reduce((sum, d) => sum + d.cents, 0n);
  const share = pot / BigInt(winners.length);
  const list = drops.map((d) => ({ ...d })).sort((a, b) => Number(b.cents) - Number(a.cents));
  const removed = [];
  const spread = [];
  for (const d of list) {
    if (d.cents > share) removed.push({ ...d, type: 'REMOVED_TO_POOL', from: winners[0] });
    else spread.push(d);
  }
  const piles = new Map(winners.map((u) => [u, { items: [], total: 0n }]));
  for (const d of spread) {
    let who = winners[0];
    let least = piles.get(who).total;
    for (const u of winners) {
      const have = piles.get(u).total;
      if (have < least) [who, least] = [u, have];
    }
    const pile = piles.get(who);
    pile.items.push({ itemId: d.itemId, name: d.name, image: d.image, rarity: d.rarity, cents: d.cents, type: 'DROPPED', round: d.round });
    pile.total += d.cents;
  }
  for (const [user, pile] of piles) {
    while (pile.total > share) {
      const excess = pile.total - share;
      const held = pile.items.filter((i) => i.type === 'DROPPED').sort((a, b) => Number(a.cents) - Number(b.cents));
      const fitting = held.filter((i) => i.cents <= excess);
      if (fitting.length === 0) break;
      const out = fitting[fitting.length - 1];
      const at = pile.items.findIndex((i) => i.itemId === out.itemId && i.type === 'DROPPED');
      pile.items.splice(at, 1);
      pile.total -= out.cents;
      removed.push({ ...out, type: 'REMOVED_TO_POOL', from: user });
    }
  }
  for (const [, pile] of piles) {
    const deficit = share - pile.total;
    if (deficit <= 0n) continue;
    for (const c of compensation(deficit)) {
      pile.items.push({ itemId: c.id, name: c.name, cents: c.cents, type: 'ADDED_FROM_POOL' });
      pile.total += c.cents;
    }
  }
  const rows = [];
  for (const [user, pile] of piles) {
    for (const i of pile.items) rows.push({ user, itemId: i.itemId, type: i.type, cents: i.cents, round: i.round });
  }
  for (const r of removed) rows.push({ user: r.from, itemId: r.itemId, type: r.type, cents: r.cents, round: r.round });
  return { rows, final: winners.map((u) => piles.get(u).total) };
}

for (let i = 0; i < 6000; i++) settle(battles[i % battles.length]); // let the compiler warm up
const end = process.hrtime.bigint() + BigInt(Math.round(seconds * 1e9));
const began = process.cpuUsage();
let n = 0;
while (process.hrtime.bigint() < end || n === 0) {
  for (let i = 0; i < 50; i++) settle(battles[n++ % battles.length]);
}
const used = process.cpuUsage(began); // microseconds of the processor, garbage collection included
const perSecond = n / ((used.user + used.system) / 1e6);
const results = battles.map((drops) => {
  const { rows, final } = settle(drops);
  return { final: final.map(Number), records: rows.length };
});
console.log(JSON.stringify({ perSecond, results }));
