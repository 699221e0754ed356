// Which of a shell's variables the service lacks: it would try to reach the Worker without them.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { missingVariables } from "../../../../node-shim/service/installed.ts";
import { temporaryFolder } from "../../base/temporary-folder.ts";

let root: { path: string; remove: () => void };
beforeEach(() => {
  root = temporaryFolder();
});
afterEach(() => root.remove());

const PROXY = { HTTPS_PROXY: "http://edge:Secret@proxy:3128" };

test.each<[situation: string, environment: NodeJS.ProcessEnv, file: string | null, missing: string | null]>([
  ["nothing in the shell", {}, null, null],
  ["a proxy, and no file", PROXY, null, "HTTPS_PROXY"],
  ["in lower case", { https_proxy: "proxy" }, null, "https_proxy"],
  ["with exceptions", { ...PROXY, NO_PROXY: "a.example" }, "", "HTTPS_PROXY, NO_PROXY"],
  ["authorities", { NODE_EXTRA_CA_CERTS: "/ca.pem" }, "", "NODE_EXTRA_CA_CERTS"],
  ["a comment in the file", PROXY, "#HTTPS_PROXY=http://proxy:3128\n", "HTTPS_PROXY"],
  ["the file has another proxy", PROXY, "ROLLCALL_URL=x\nHTTPS_PROXY=http://other:3128\n", null],
  ["the file has it as systemd reads it", PROXY, 'HTTPS_PROXY = "http://other:3128"\n', null],
  ["the file has it in lower case", PROXY, "https_proxy=http://proxy:3128\n", null],
  ["what the Worker's way does not depend on", { HTTP_PROXY: "proxy", PATH: "/bin" }, null, null],
])("%s → what to write into the file, and no value of it", (_situation, environment, file, missing) => {
  mkdirSync(join(root.path, "etc/rollcall"), { recursive: true });
  if (file !== null) writeFileSync(join(root.path, "etc/rollcall/node-shim.env"), file);
  const line = missingVariables(root.path, environment);
  expect(line).toBe(
    missing &&
      `the service does not have ${missing} of this shell: write it into /etc/rollcall/node-shim.env (mode 0600), then systemctl restart rollcall-node-shim.service`,
  );
});
