// readings_test.js SITE PROGRAM FILE...: what the page reads in a report is what `check FILE` reads in it: the driver, the
// GPU and the Python, as far as both say one.
'use strict';
const fs = require('fs'), path = require('path'), { spawnSync } = require('child_process');
const [site, program, ...files] = process.argv.slice(2);
const lookup = require(path.join(site, 'assets/lookup.js'));
const data = new lookup.Data(JSON.parse(fs.readFileSync(path.join(site, 'assets/space.json'))));

let different = 0, compared = 0;
for (const file of files) {
  const text = fs.readFileSync(file, 'utf8'), read = data.read(text.replace(/\s+/g, ' ').slice(0, 20000));
  const out = spawnSync(program, ['check', file, '-o', 'json'], { maxBuffer: 1 << 26 }).stdout.toString();
  if (!out) continue;
  const facts = JSON.parse(out).facts;
  const gpu = facts.gpus.length ? facts.gpus[0].name : '';
  const environment = facts.environments[0] || {};
  for (const [what, page, said] of [['driver', read.driver || '', facts.driver.version], ['python', read.python || '', (environment.python || '').split('.').slice(0, 2).join('.')],
    ['gpu', host(read.gpu), host(gpu)]]) {
    if (!said && !page) continue;
    compared++;
    if (said && page !== said) {
      different++;
      console.error(`${file}: ${what}: the page reads ${JSON.stringify(page)}, check ${JSON.stringify(said)}`);
    }
  }
}

// host is which host a name stands for: a name has several spellings.
function host(name) {
  if (!name) return '';
  const h = data.host({ gpu: name.replace(/^NVIDIA /, '') });
  return h ? String(h.n) : ''; // a name that was cut, which neither knows
}

console.log(`readings: ${compared} facts of ${files.length} reports, ${different} different`);
if (different || !compared) process.exit(1);
