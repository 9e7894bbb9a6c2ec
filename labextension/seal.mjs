// Writes prebuilt.sha256, the checksums of the sources and of their build (see tests/test_labextension.py).

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';

const files = path =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap(name => files(`${path}/${name}`)) : [path];

const lines = ['package.json', 'package-lock.json', 'tsconfig.json', 'src', 'prebuilt']
  .flatMap(files)
  .sort()
  .map(path => `${createHash('sha256').update(readFileSync(path)).digest('hex')}  ${path}\n`);
writeFileSync('prebuilt.sha256', lines.join(''));
