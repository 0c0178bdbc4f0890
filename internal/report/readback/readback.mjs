// Reads a case's junit and github files as other programs do: CODE JUNIT GITHUB. The first by test-results-parser; each
// annotation must be, byte for byte, what GitHub's own library writes for what was read.
import fs from 'node:fs';
import { createRequire } from 'node:module';
const require = createRequire(process.cwd() + '/');
const { parse } = require('test-results-parser');
const core = require('@actions/core');

const [code, junit, github] = [Number(process.argv[2]), ...process.argv.slice(3)];
const read = parse({ type: 'junit', files: [junit] });
if ((read.failed + read.errors > 0) !== (code !== 0)) {
  throw new Error(`test-results-parser: exit code ${code}, and ${read.failed} failed, ${read.errors} errors`);
}

const unescaped = (text) => text.replace(/%3A/g, ':').replace(/%2C/g, ',').replace(/%0D/g, '\r').replace(/%0A/g, '\n').replace(/%25/g, '%');
let written = '';
const write = process.stdout.write;
process.stdout.write = (text) => { written += text; return true; };
const lines = fs.readFileSync(github, 'utf8');
for (const line of lines.trimEnd().split('\n')) {
  const [, command, title, data] = /^::(error|warning|notice) title=(.*?)::(.*)$/.exec(line) ?? [];
  core[command](unescaped(data), { title: unescaped(title) });
}
process.stdout.write = write;
if (written !== lines) throw new Error(`@actions/core writes:\n${written}\nand the file has:\n${lines}`);
