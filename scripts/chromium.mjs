// Unpacks a package of Chromium into its folder, and puts a program `chromium` there that runs it.
//
//   node chromium.mjs FOLDER      the folder holds the package as npm packs it

import { execFileSync } from "node:child_process";
import { chmodSync, createReadStream, createWriteStream, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";

const folder = process.argv[2];
const packed = readdirSync(folder).find((name) => name.endsWith(".tgz"));
execFileSync("tar", ["xzf", join(folder, packed), "-C", folder, "package/bin"]);
const bin = join(folder, "package", "bin");

for (const name of readdirSync(bin)) {
  const plain = join(folder, name.replace(/\.br$/, ""));
  await pipeline(createReadStream(join(bin, name)), createBrotliDecompress(), createWriteStream(plain));
  if (!plain.endsWith(".tar")) continue;
  // The browser looks for libraries that draw beside itself.
  const into = plain.endsWith("swiftshader.tar") ? folder : plain.replace(/\.tar$/, "");
  mkdirSync(into, { recursive: true });
  execFileSync("tar", ["xf", plain, "-C", into]);
  rmSync(plain);
}
rmSync(join(folder, packed));
rmSync(join(folder, "package"), { recursive: true });

// A bare system has no fonts either.
writeFileSync(join(folder, "fonts", "fonts.conf"), `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(folder, "fonts", "fonts")}</dir><cachedir>${join(folder, "fonts", "cache")}</cachedir></fontconfig>
`);

// The libraries beside it are those that it was built with and that a bare system lacks.
execFileSync("mv", [join(folder, "chromium"), join(folder, "headless")]);
chmodSync(join(folder, "headless"), 0o755);
writeFileSync(join(folder, "chromium"), `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH="\${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/al2023/lib"
[ -d /usr/share/fonts/truetype ] || export FONTCONFIG_FILE="$here/fonts/fonts.conf"
exec "$here/headless" "$@"
`);
chmodSync(join(folder, "chromium"), 0o755);
