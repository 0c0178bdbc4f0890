// lookup_test.js SITE PROGRAM [QUESTIONS]: the page's lookup says what the program says, at each driver where an answer
// changes, just below it and between, for one host of each group and all frameworks, and for random questions.
'use strict';
const fs = require('fs'), path = require('path'), { execFile } = require('child_process');
const [site, program, questions = '500'] = process.argv.slice(2);
const lookup = require(path.join(site, 'assets/lookup.js'));
const read = name => new lookup.Data(JSON.parse(fs.readFileSync(path.join(site, 'assets', name))));
const data = read('space.json'), windows = read('space-windows.json'), of = q => q.platform === 'windows' ? windows : data;

let seed = 60;
function random(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; }

function around(breaks) {
  const list = [];
  breaks.forEach((b, i) => {
    const p = b.split('.').map(Number);
    list.push(p.length > 1 ? b : b + '.0');
    list.push(p.length > 2 && p[2] > 0 ? [p[0], p[1], String(p[2] - 1).padStart(2, '0')].join('.') : p.length > 1 && p[1] > 0 ? p[0] + '.' + (p[1] - 1) + '.99' : (p[0] - 1) + '.999.99');
    list.push(p[0] + '.' + ((p[1] || 0) + 1) + '.' + (i % 100));
    if (data.branch(String(p[0]))) list.push(String(p[0]));
  });
  return [...new Set(list)].filter(v => +v.split('.')[0] >= 100);
}

// Of each group one host, at the drivers where its own answers change. SITE_TEST_EVERY=10 takes a tenth of them.
let all = [];
for (const platform of ['linux', 'windows']) for (const want of Object.keys(data.json.wants)) {
  const d = of({ platform }), w = d.json.wants[want], done = {};
  d.json.hosts.forEach((h, n) => {
    if (done[w.of[n]]) return;
    done[w.of[n]] = true;
    const host = h.g ? { gpu: h.g[random(h.g.length)] } : h.i ? { instance: h.i[random(h.i.length)] } : { gpu: h.c };
    const bands = w.groups[w.of[n]];
    const breaks = bands[0].concat(bands[1]).filter(b => typeof b === 'string' && b);
    around(breaks).forEach(driver => all.push({ ...host, driver, want, python: '3.12', platform }));
    all.push({ ...host, want, python: '3.12', platform });
  });
}
all = all.filter((q, i) => i % +(process.env.SITE_TEST_EVERY || 1) === 0);
const fixed = all.length;
const names = data.json.hosts.flatMap(h => (h.g || []).map(gpu => ({ gpu })).concat((h.i || []).map(instance => ({ instance }))));
const wants = Object.keys(data.json.wants);
for (let i = 0; i < +questions; i++) {
  const b = data.json.branches[random(data.json.branches.length)];
  const driver = [b[0], b[4] || b[0], b[0] + '.' + random(200) + '.0' + (1 + random(9))][random(3)], host = names[random(names.length)];
  const platform = random(5) || !windows.host(host) ? 'linux' : 'windows';
  all.push({ ...host, driver, want: wants[random(wants.length)], python: '3.12', platform });
}

// asked is what the program says, in the page's words.
function asked(q) {
  const args = ['pins', '-o', 'json', '--want', q.want, '--python', q.python];
  if (q.platform === 'windows' || lookup.windowsOnly(q.driver)) args.push('--platform', q.platform);
  if (q.driver) args.push('--driver', q.driver);
  if (q.gpu) args.push('--gpu', q.gpu);
  if (q.instance) args.push('--instance', q.instance);
  return new Promise((done, fail) => execFile(program, args, { maxBuffer: 1 << 24 }, (e, out, err) => {
    if (!out) return fail(new Error(args.join(' ') + ': ' + err));
    const p = JSON.parse(out);
    done({
      sets: p.sets.map(s => ({
        choice: s.choice, driver: s.driver, packages: s.packages.map(spec), index: s.index, extra: s.extra, commands: s.commands, steps: s.steps,
        why: s.why, lacks: s.lacks, source: s.source
      })),
      missing: p.missing.map(m => ({ choice: m.choice, why: m.why, source: m.source })),
      ends: p.ends
    });
  }));
}

function spec(p) { return p.url ? p.package + ' @ ' + p.url : p.version ? p.package + '==' + p.version : p.package + p.specifier; }

function sorted(o) {
  return JSON.stringify(o, (k, v) => v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort()) : v);
}

// checked is what the program says of a release on a host: true where it runs, false where not, else undefined.
function checked(spec, q) {
  const args = ['check', spec, '-o', 'json', '--driver', q.driver].concat(q.gpu ? ['--gpu', q.gpu] : ['--instance', q.instance]);
  return new Promise((done, fail) => execFile(program, args, { maxBuffer: 1 << 24 }, (e, out, err) => {
    if (!out) return fail(new Error(args.join(' ') + ': ' + err));
    done({ compatible: true, incompatible: false }[JSON.parse(out).outcome]);
  }));
}

// releases asks of random releases on random hosts and drivers whether they run there.
async function releases(count) {
  const needs = Object.fromEntries(wants.map(w => [w, JSON.parse(fs.readFileSync(path.join(site, 'assets', `needs-${w}.json`)))]));
  const list = [];
  while (list.length < count) {
    const want = wants[random(wants.length)], rows = needs[want].rows, row = rows[random(rows.length)];
    const spec = /^pip install '?([^' ]+)/.exec(row[2]), host = names[random(names.length)];
    const branch = data.json.branches[random(data.json.branches.length)], driver = [branch[0], branch[4] || branch[0]][random(2)];
    const b = lookup.releases(needs[want], data.host(host), row[0] + '+' + row[1], driver)[0];
    if (spec && !b.absent) list.push({ ...host, driver, spec: spec[1], runs: b.runs });
  }
  let at = 0, different = 0;
  async function worker() {
    while (at < list.length) {
      const q = list[at++], want = await checked(q.spec, q);
      if (q.runs !== want && ++different <= 5) console.error('different:', JSON.stringify(q), 'the program says', want);
    }
  }
  await Promise.all([worker(), worker()]);
  console.log(`releases: ${count} named ones on random hosts and drivers, ${list.filter(q => q.runs).length} run: ${different} different from check`);
  return different;
}

// systems asks for the system that a driver's number alone means.
function systems() {
  return Promise.all(['470.57.02', '512.95', '550', '550.90', '566.36', '581', '581.80', '581.80.01', '591.44', '600.1', '999.1'].map(driver => new Promise((done, fail) =>
    execFile(program, ['pins', '-o', 'json', '--gpu', 'L4', '--driver', driver], { maxBuffer: 1 << 24 }, (e, out, err) => {
      if (!out) return fail(new Error(driver + ': ' + err));
      const want = /^win/.test(JSON.parse(out).target.platform), got = lookup.settle({ driver }).platform === 'windows';
      if (got !== want) console.error(`different: ${driver}: for Windows by the page ${got}, by the program ${want}`);
      done(got === want ? 0 : 1);
    })))).then(list => list.reduce((a, b) => a + b, 0));
}

async function main() {
  let at = 0, different = 0, took = [];
  async function worker() {
    while (at < all.length) {
      const q = all[at++], begin = process.hrtime.bigint(), got = of(q).answer(q);
      took.push(Number(process.hrtime.bigint() - begin) / 1e6);
      const want = await asked(q);
      if (sorted(got) !== sorted(want) && ++different <= 5) console.error('different:', JSON.stringify(q), '\n page    ', String(sorted(got)).slice(0, 1500), '\n program ', sorted(want).slice(0, 1500));
    }
  }
  await Promise.all([worker(), worker()]);
  took.sort((a, b) => a - b);
  console.log(`lookup: ${fixed} questions at and around breaks, ${all.length - fixed} random: ${different} different; an answer takes ${took[took.length >> 1].toFixed(3)} ms, at most ${took[took.length - 1].toFixed(2)} ms`);
  if (await releases(Math.max(100, +questions)) + different + await systems()) process.exit(1);
}

main().catch(e => { console.error(e.message); process.exit(1); });
