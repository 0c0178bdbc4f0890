// paste_test.js SITE PROGRAM TEXTS: the engine, run in Node with the page's own files, says what the program says of each
// text. TEXTS is what tools/site/texts writes.
'use strict';
const fs = require('fs'), path = require('path'), os = require('os'), { spawnSync } = require('child_process');
const [site, named, list] = process.argv.slice(2), program = path.resolve(named); // it runs in other directories

// A text a line: {"name":"…","text":"…", and what else the request has}.
const requests = fs.readFileSync(list, 'utf8').split('\n').filter(Boolean).map(l => JSON.parse(l));

function loadEngine() {
  const engine = fs.readFileSync(path.join(site, 'assets/engine.js'), 'utf8'), go = fs.readFileSync(path.join(site, 'assets/wasm_exec.js'), 'utf8');
  // In a context of its own, since the engine's file system takes the place of Node's.
  const vm = require('vm'), own = vm.createContext({ TextEncoder, TextDecoder, WebAssembly, crypto, performance, Promise, Response, Blob, DecompressionStream, setTimeout, clearTimeout, console, Uint8Array, Object, Date, Error, Math, Reflect, JSON, Array, String, Number, DataView, Map, Set, ArrayBuffer, BigInt, Symbol, Function });
  own.globalThis = own;
  vm.runInContext(engine, own);
  vm.runInContext(go, own);
  return own.startEngine(fs.readFileSync(path.join(site, 'assets/engine.bin')));
}

// same is a document without what tells one run from another.
function same(text) {
  if (text === null || text === '') return '';
  const d = typeof text === 'string' ? JSON.parse(text) : text;
  if (d.tool) delete d.tool.run;
  return JSON.stringify(d);
}

function asked(r, command, dir) {
  if (r.compare) { fs.writeFileSync(path.join(dir, 'new'), r.text); fs.writeFileSync(path.join(dir, 'old'), r.old); }
  const p = spawnSync(program, [...command, '-o', 'json'], { input: r.compare ? '' : r.text, cwd: dir, maxBuffer: 1 << 28, encoding: 'utf8' });
  return { code: p.status, document: p.stdout, error: p.stderr.trim().replace(/cudacompat: /g, '') };
}

async function main() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'paste'));
  let judge = await loadEngine(), different = 0, ended = 0, begin = process.hrtime.bigint();
  const took = [], by = {};
  for (const r of requests) {
    const began = process.hrtime.bigint();
    const { name, ...request } = r;
    const got = JSON.parse(await judge(request));
    took.push({ ms: Number(process.hrtime.bigint() - began) / 1e6, name });
    const want = asked(r, got.command, dir);
    by[got.command[0]] = (by[got.command[0]] || 0) + 1;
    const g = same(got.document), w = same(want.document);
    if (g === w && got.code === want.code && (g || got.error === want.error)) continue;
    if (/the time was up|more memory than a run/.test(g + w + got.error + want.error)) { ended++; continue; }
    if (++different > 5) continue;
    let i = 0;
    while (i < g.length && g[i] === w[i]) i++;
    console.error(`different: ${name}: ${got.command.join(' ')}: ${got.code} and ${want.code}\n  page    ${g.slice(Math.max(0, i - 80), i + 200) || got.error}\n  program ${w.slice(Math.max(0, i - 80), i + 200) || want.error}`);
  }
  took.sort((a, b) => a.ms - b.ms);
  const most = took[took.length - 1];
  console.log(`paste: ${requests.length} texts (${Object.entries(by).map(([k, v]) => k + ' ' + v).join(', ')}): ${different} different, ${ended} ended by time or memory; ` +
    `the middle takes ${took[took.length >> 1].ms.toFixed(0)} ms, the longest ${most.ms.toFixed(0)} ms (${most.name})`);
  process.exit(different ? 1 : 0);
}

main().catch(e => { console.error(e); process.exit(1); });
