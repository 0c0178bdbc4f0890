// paste_browser_test.js SITE: /paste/ and /change/ in Chromium: what people paste, what nobody should, by keyboard, at two
// widths, in both themes. Screens go to SITE_TEST_SHOTS.
'use strict';
const fs = require('fs'), http = require('http'), path = require('path');
const puppeteer = require('puppeteer-core'), axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [site, part] = process.argv.slice(2), shots = process.env.SITE_TEST_SHOTS, top = path.join(__dirname, '../..');
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.svg': 'image/svg+xml' };

let failures = 0, checks = 0;
function check(what, ok, more) {
  checks++;
  if (!ok) { failures++; console.error('FAIL ' + what + (more ? ': ' + more : '')); }
}

const asked = [];
const server = http.createServer((q, r) => {
  asked.push(q.method + ' ' + q.url);
  const name = decodeURIComponent(q.url.split('?')[0]);
  let file = path.join(site, name.replace(/^\/sub\/path/, ''));
  if (fs.existsSync(file) && fs.statSync(file).isDirectory()) file = path.join(file, 'index.html');
  if (!name.startsWith('/sub/path/') || !fs.existsSync(file)) { r.writeHead(404); return r.end('not here'); }
  r.writeHead(200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
  r.end(fs.readFileSync(file));
});

const broken = fs.readFileSync(path.join(top, 'examples/collect_env/broken.txt'), 'utf8');
const named = (what, value) => broken.replace(what, () => value);
const report = o => JSON.stringify({ schema: 'cudacompat/facts/v1', ...o });
const markup = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><svg onload="window.pwned=1">';
const fleetOf = text => JSON.stringify({ schema: 'cudacompat/fleet/v1', outcome: text, nodes: 1, groups: [{ outcome: text, rules: [text, '../../x', 'javascript:window.pwned=1'], message: text, step: text, nodes: [text] }],
  kinds: [{ nodes: [{ node: text }], outcome: 'incompatible', driver: text, gpus: [text], findings: [{ rule: text, severity: text, message: text }], unknown: [{ missing: text }] }], unread: [{ node: text, reason: text }], missing: [text] });

// What nobody should paste. Long texts are made in the page: # is the number of a unit.
const hostile = {
  'markup alone': markup,
  'markup behind a report': broken + '\n' + markup,
  'markup as the GPU': named(/GPU 0:.*/, 'GPU 0: ' + markup),
  'markup as the driver': named(/(Nvidia driver version:).*/, 'Nvidia driver version: 535.183.01' + markup),
  'markup as torch': named(/PyTorch version:.*/, 'PyTorch version: 2.9.0+cu130' + markup),
  'markup in an error': broken + '\nRuntimeError: CUDA error: no kernel image is available for execution on the device ' + markup,
  'markup as a package': `torch==2.9.0\n${markup}==1.0\nvllm==0.11.0 # ${markup}`,
  'markup as an image': `FROM nvidia/cuda:12.4.1-${markup}\nRUN pip install torch==2.9.0 "${markup}"`,
  'markup as a name of a fleet': fleetOf(markup),
  'markup as an Xid': 'NVRM: Xid (PCI:0000:00:1e): 79, pid=1234, name=' + markup + ', GPU has fallen off the bus.',
  'an address of a script': 'torch @ javascript:window.pwned=1\nhttps://evil.example/torch-2.9.0-cp312-cp312-linux_x86_64.whl',
  'an end of the textarea': '</textarea></form>' + markup + broken,
  'a template': broken + '\n{{constructor.constructor("window.pwned=1")()}} ${window.pwned=1} <%= 1 %>',
  'a frame and a form': broken + '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe><form action="https://evil.example"><input autofocus onfocus="window.pwned=1">',
  'a base and a style': broken + '<base href="https://evil.example/"><style>*{background:url(https://evil.example/x)}</style><link rel=stylesheet href=https://evil.example/x.css><meta http-equiv=refresh content="0;url=https://evil.example">',
  'directions': named(/GPU 0:.*/, 'GPU 0: NVIDIA \u202e4L\u202c \u2066L4\u2069 \u200f') + '\nRuntimeError: CUDA error: no kernel image is available \u202efor execution on the device',
  'control characters': named(/GPU 0:.*/, 'GPU 0: NVIDIA L4\u001b]8;;https://evil.example\u0007x\u001b[2J\u0000\u0008'),
  'half a character': broken + '\ud800\udfff\ud800',
  'a prototype': report({ __proto__: null, driver: { version: '535.183.01' } }).replace('{', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},'),
  'a prototype in a fleet': fleetOf('x').replace('{', '{').replace('"groups"', '"__proto__":{"polluted":1},"groups"'),
  'facts of wrong kinds': report({ driver: [], gpus: { length: 1e9 }, environments: 'x', probes: 7 }),
  '20 MB': { unit: 'torch==2.9.0\n', times: 1600000 },
  'one line of 2 MB': { unit: 'a', times: 2090000 },
  '2 MB of errors': { unit: 'RuntimeError: CUDA error: no kernel image is available for execution on the device\n', times: 25000 },
  '2 MB of empty lines': { head: 'torch==2.9.0', unit: '\n', times: 2090000 },
  '2 MB of brackets': { unit: '[', times: 2000000 },
  '2 MB of nested objects': { unit: '{"a":', times: 400000 },
  '150,000 packages': { unit: 'p#==1\n', times: 150000 },
  'a bomb of YAML': 'name: x\na: &a [x,x,x,x,x,x,x,x,x]\n' + 'bcdefghijklm'.split('').map((c, i) => `${c}: &${c} [${Array(9).fill('*' + 'abcdefghijklm'[i]).join(',')}]`).join('\n') + '\ndependencies: *m\n',
  'a bomb of XML': '<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaaaaaaaa">' + 'bcdefghij'.split('').map((c, i) => `<!ENTITY ${c} "${('&' + 'abcdefghij'[i] + ';').repeat(10)}">`).join('') + ']><nvidia_smi_log><driver_version>&j;</driver_version></nvidia_smi_log>',
  'a bomb of gzip': { bomb: true },
  'a bomb of an argument': 'ARG A=xxxxxxxxxxxxxxxx\n' + Array.from({ length: 40 }, () => 'ARG A=$A$A').join('\n') + '\nFROM nvidia/cuda:$A\nRUN pip install torch==2.9.0'
};

async function main() {
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${server.address().port}/sub/path/`, origin = new URL(base).origin;
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: 600000 });

  async function open(address, o = {}) {
    const page = await browser.newPage();
    page.on('console', m => { if (m.type() === 'error' || m.type() === 'warn') check('console of ' + address, false, m.text()); });
    page.on('pageerror', e => check('script of ' + address, false, e.message));
    page.on('dialog', d => { check('dialog of ' + address, false, d.message()); d.dismiss(); });
    page.on('request', r => check('request of ' + address, r.url().startsWith(origin), r.url().slice(0, 200)));
    await page.setViewport({ width: o.width || 1280, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: o.theme || 'light' }]);
    if (o.script === false) await page.setJavaScriptEnabled(false);
    await page.goto(base + address, { waitUntil: 'networkidle0' });
    return page;
  }
  const text = (page, s) => page.$eval(s, e => e.innerText);
  const done = page => page.waitForFunction(() => /^(Judged|It was not judged|The text has|The engine|Paste a text)/.test(document.getElementById('status').textContent), { timeout: 300000 });
  async function judge(page, value, old) {
    await page.evaluate((v, o) => {
      document.getElementById('status').textContent = '';
      document.getElementById('text').value = v;
      document.getElementById('text').dispatchEvent(new Event('input'));
      if (o) document.getElementById('old').value = o;
      document.getElementById('paste').requestSubmit();
    }, value, old);
    await done(page);
  }
  async function axe(page, what) {
    await page.evaluate(axeSource);
    const r = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    check('axe ' + what, !r.violations.length, r.violations.map(v => v.id + ' ' + v.nodes[0].html.slice(0, 160) + ' ' + (v.nodes[0].any[0] || {}).message).join('; '));
    return r.incomplete.map(i => `${what}: ${i.id} (${i.nodes.length}) ${i.nodes[0].html.slice(0, 80)}`);
  }
  const incomplete = [];

  let first = 0, again = 0, page;
  const slow = [];
  if (part !== 'hostile') {
    // The page says that nothing is sent, loads the engine at the first paste only, and sends nothing.
    page = await open('paste/');
    check('it says that nothing is sent', /Nothing is sent/.test(await text(page, 'main')));
    check('the engine is not loaded yet', !asked.some(a => /engine\.bin|worker\.js/.test(a)));
    const began = Date.now();
    await page.focus('#text');
    await page.evaluate(v => {
      const data = new DataTransfer(), box = document.getElementById('text');
      data.setData('text', v);
      box.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
      box.value = v;
    }, broken);
    await done(page);
    first = Date.now() - began;
    const second = Date.now();
    await judge(page, broken);
    again = Date.now() - second;
    check('the verdict', /^incompatible: torch 2\.9\.0\+cu130.*535\.183\.01/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    check('only the engine was asked for', asked.filter(a => /worker|engine|wasm/.test(a)).length === 4, asked.join(' '));
    check('nothing is posted', asked.every(a => a.startsWith('GET ')));
    check('the address stays', await page.evaluate(() => location.search + location.hash === ''));
    const marks = await page.$$eval('.chain .mark', l => l.map(m => m.textContent).join(''));
    check('the chain has marks', /✓/.test(marks) && /✗/.test(marks), marks);
    const lines = await page.$$eval('.pasted .decided code', l => l.map(c => c.textContent));
    check('the driver\'s line decided', lines.some(l => /driver version: 535\.183\.01/.test(l)), lines.join(' | '));
    check('the line of torch decided', lines.some(l => /PyTorch version: 2\.9\.0\+cu130/.test(l)), lines.join(' | '));
    await page.click('.pasted .decided.broke .why a');
    check('a line leads to its finding', /^#finding-\d+$/.test(await page.evaluate(() => location.hash)) && (await page.$(':target.card')) !== null);
    await page.click('.finding .evidence a');
    check('a finding leads to its line', /^#line-\d+$/.test(await page.evaluate(() => location.hash)));
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: t => { window.copied = t; return Promise.resolve(); } } }));
    await page.click('.finding .copy');
    check('a fix is copied', /pip install torch==/.test(await page.evaluate(() => window.copied)), await page.evaluate(() => window.copied));
    await page.click('.bar .copy');
    check('one date of the tables', await page.evaluate(() => { const dates = document.body.innerText.replace(/\s+/g, ' ').match(/[Tt]ables of \d{4}-\d\d-\d\d/g); return new Set(dates.concat(window.copied.match(/[Tt]ables of \d{4}-\d\d-\d\d/g)).map(d => d.slice(-10))).size === 1; }));
    const md = await page.evaluate(() => window.copied);
    check('Markdown for an issue', /^\*\*incompatible: /.test(md) && /```\n.*pip install torch==/.test(md), md);
    await page.focus('#text');
    await page.keyboard.type('x');
    check('an old result is marked', /result is of what stood here before/.test(await text(page, '#result .stale')));
    await judge(page, broken);
    check('a new one is not', await page.$('#result .stale') === null);
    await page.close();

    // A log, a list with a machine, a report of doctor, facts of several nodes, a fleet's JSON, a change.
    page = await open('paste/');
    await judge(page, 'step 1\nTraceback (most recent call last):\n  File "x.py", line 3\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n');
    check('a log', /^The environment is at fault: gpu-arch-missing/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    check('its line', (await text(page, '.pasted .decided')).includes('no kernel image'));
    await page.click('#paste summary');
    await page.type('[name=driver]', '535.183.01');
    await page.type('[name=gpu]', 'L4');
    await judge(page, 'torch==2.9.0\nvllm==0.11.0\n');
    check('a list for a machine', /vllm 0\.11\.0 was compiled for torch 2\.8\.0/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await page.$eval('[name=driver]', e => { e.value = ''; });
    await page.$eval('[name=gpu]', e => { e.value = ''; });
    const facts = ['driver-mismatch', 'p100-cu130', 'p5-48xlarge'].map(n => JSON.parse(fs.readFileSync(path.join(top, `examples/facts/${n}.json`), 'utf8')));
    await judge(page, JSON.stringify(facts[0]));
    check('facts of a machine', /^incompatible: libcuda belongs to driver 550\.107\.02/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await judge(page, facts.map((f, i) => JSON.stringify({ node: 'n' + i, facts: f })).join('\n'));
    const rows = await page.$$eval('#result tbody tr', l => l.map(r => r.innerText.replace(/\s+/g, ' ')));
    check('nodes and causes', rows.length === 3 && rows[0].includes('n0 incompatible 550.90.07') && /✗/.test(rows[0]), rows.join(' | '));
    if (shots) await page.screenshot({ path: path.join(shots, 'paste-fleet.png'), fullPage: true });
    incomplete.push(...await axe(page, 'fleet'));
    await judge(page, fleetOf('n9'));
    check('a fleet\'s own JSON', /n9: 1 node/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await judge(page, broken.replace(/^.*nvidia-nccl.*\n/gm, '').replace(/Is CUDA available: False/, 'Is CUDA available: True').replace(/535\.183\.01/, '580.95.05').replace(/GPU 0:.*/, 'GPU 0: Tesla V100-PCIE-16GB\nGPU 1: NVIDIA L4'));
    check('several kinds of GPU', /^compatible, but not with every GPU: .*no code for Tesla V100/.test(await text(page, '.verdict')) && !await page.$('.verdict.good'), await text(page, '.verdict'));
    const steps = Array.from({ length: 30000 }, (_, i) => '[rank0] step ' + i).join('\n');
    await judge(page, steps + '\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n');
    check('a log of many lines', /^The environment is at fault: gpu-arch-missing/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await judge(page, Array.from({ length: 30000 }, (_, i) => 'package-' + i + '==1').join('\n'));
    check('a list that is too long', /more than 20000 are not read[^]*Paste less/.test(await text(page, '#result')) && !/standard input/.test(await text(page, '#result')), await text(page, '#result'));
    await judge(page, 'hello');
    check('what is nothing', /The log does not tell|cannot tell/.test(await text(page, '#result')), await text(page, '#result'));
    await page.close();
    page = await open('change/');
    check('it says that nothing is sent', /Nothing is sent/.test(await text(page, 'main')));
    await judge(page, 'torch==2.14.1\n', 'torch==2.9.0\n');
    check('a change', /^GPUs are lost: compute capability 7\.0; a newer driver is needed on 7\.5/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await judge(page, 'torch==9.9.9\n', 'torch==2.9.0\n');
    check('an unknown change is not green', !await page.$('.verdict.good') && /It is not known/.test(await text(page, '.verdict')), await text(page, '.verdict'));
    await page.$eval('[name=gpu]', e => { e.value = 'V100'; });
    await judge(page, 'torch==2.14.1\n', 'torch==2.9.0\n');
    check('a change for a machine', /^Lost: V100/.test(await text(page, '.verdict')) && /ran the old one, does not run the new one/.test(await text(page, '#result')), await text(page, '.verdict'));
    await page.close();

    // By keyboard alone, and without JavaScript.
    page = await open('paste/');
    for (let i = 0; i < 20 && !(await page.evaluate(() => document.activeElement.id === 'text')); i++) await page.keyboard.press('Tab');
    await page.keyboard.type('torch==2.9.0');
    await page.keyboard.down('Control');
    await page.keyboard.press('Enter');
    await page.keyboard.up('Control');
    await done(page);
    check('by keyboard', /^Judged/.test(await text(page, '#status')));
    await page.close();
    page = await open('paste/', { script: false });
    check('without JavaScript it names the command', /cudacompat check FILE/.test(await text(page, 'main')) && await page.$eval('#paste', f => f.hidden));
    await page.close();

    for (const width of [360, 1280]) for (const theme of ['light', 'dark']) for (const address of ['paste/', 'change/']) {
      page = await open(address, { width, theme });
      await (address === 'paste/' ? judge(page, broken) : judge(page, 'torch==2.14.1\n', 'torch==2.9.0\n'));
      const name = `${address.slice(0, -1)}-${theme}-${width}`;
      incomplete.push(...await axe(page, name));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      check(`${name} fits`, over <= 0, over + ' px wider');
      if (shots) await page.screenshot({ path: path.join(shots, name + '.png'), fullPage: true });
      await page.close();
    }

  }

  // What nobody should paste: nothing of it runs, asks, stays, or ends the page.
  page = await open('paste/');
  const home = page.url();
  for (const [name, value] of Object.entries(hostile)) {
    const begin = Date.now();
    if (value.bomb) {
      const packed = require('zlib').gzipSync(Buffer.alloc(300 << 20), { level: 9 }).toString('base64');
      await judge(page, [1, 2].map(n => JSON.stringify({ node: 'n' + n, facts: { schema: 'cudacompat/packed/v1', gzip: packed } })).join('\n'));
    } else if (value.unit) {
      await page.evaluate(v => {
        const units = v.unit.includes('#') ? Array.from({ length: v.times }, (_, i) => v.unit.replace('#', i)).join('') : v.unit.repeat(v.times);
        const data = new DataTransfer();
        data.setData('text', (v.head || '') + units);
        document.getElementById('status').textContent = '';
        document.getElementById('text').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
      }, value);
      await done(page);
    } else await judge(page, value);
    slow.push([Date.now() - begin, name]);
    const state = await page.evaluate(() => ({
      pwned: window.pwned || ({}).polluted, url: location.href, status: document.getElementById('status').textContent,
      made: document.querySelectorAll('#result script, #result img, #result svg, #result iframe, #result style, #result link, #result form, #result input, #result base, #result object').length,
      scripts: document.scripts.length, links: [...document.querySelectorAll('#result a')].map(a => a.href).filter(h => !h.startsWith('https://') && !h.startsWith(location.origin)),
      evil: [...document.querySelectorAll('#result a')].filter(a => /evil|javascript/.test(a.href)).length,
      raw: /[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(document.getElementById('result').textContent)
    }));
    check('hostile: ' + name, !state.pwned && state.url.split('#')[0] === home && !state.made && state.scripts === 1 && !state.links.length && !state.evil && !state.raw && state.status, JSON.stringify(state));
  }
  check('it still judges', await judge(page, broken).then(() => text(page, '.verdict')).then(t => t.startsWith('incompatible')));
  check('all requests were GETs of the site', asked.every(a => /^GET \/sub\/path\/[\w./-]*$/.test(a) || a === 'GET /favicon.ico'), asked.filter(a => !/^GET \/sub\/path\/[\w./-]*$/.test(a)).slice(0, 5).join(' '));
  await page.close();

  await browser.close();
  server.close();
  slow.sort((a, b) => b[0] - a[0]);
  console.log(`paste: ${checks} checks, ${failures} failed; the first answer ${first} ms after the paste, the next ${again} ms; ${Object.keys(hostile).length} hostile pastes, the longest ${slow[0][0]} ms (${slow[0][1]})`);
  const unsure = [...new Set(incomplete.map(i => i.replace(/^[^:]*: /, '')))];
  if (unsure.length) console.log('axe could not decide:\n  ' + unsure.join('\n  '));
  if (failures) process.exit(1);
}

main().catch(e => { console.error(e); process.exit(1); });
