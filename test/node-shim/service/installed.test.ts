// Tests how the shim finds the installed service, and the files that the shim reads for that.
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it, test } from "vitest";
import { installedService, missingFlags, missingVariables } from "../../../node-shim/service/installed.ts";
import { UNIT_NAME } from "../../../node-shim/service/unit.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
function put(file: string, text: string): string {
  const path = join(folder.path, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
const unit = (command: string) =>
  `[Service]\nExecStart=/n s ${command}\nEnvironmentFile=-/etc/rollcall/x.env\n`;
const PACKAGE = `usr/lib/systemd/system/${UNIT_NAME}`;
const OWN = `etc/systemd/system/${UNIT_NAME}`;
const found = () => installedService(folder.path);

it("none → null", () => {
  expect(found()).toBeNull();
});

it("the package's, its environment file, a drop-in → flags and variables of all of them, with their files", () => {
  const files = [
    put(PACKAGE, unit("run --max-pods 7 $F")),
    put(`etc/systemd/system/${UNIT_NAME}.d/override.conf`, "[Service]\nEnvironment=HTTPS_PROXY=http://p:1\n"),
    put("etc/rollcall/x.env", "F=--node-labels=a=b\n"),
  ];
  const service = found();
  expect(service).toMatchObject({ files, flags: ["--max-pods", "7", "--node-labels=a=b"] });
  expect(Object.fromEntries(service?.environment ?? [])).toEqual({
    HTTPS_PROXY: "http://p:1",
    F: "--node-labels=a=b",
  });
});

it("an administrator's unit → wins over the package's; its file of variables → wins over the unit's own", () => {
  put(PACKAGE, unit("run --package"));
  const own = put(OWN, `${unit("run $F")}Environment=F=--unit\n`);
  expect(found()).toMatchObject({ files: [own], flags: ["--unit"] });
  put("etc/rollcall/x.env", "F=--file\n");
  expect(found()?.flags).toEqual(["--file"]);
});

it("drop-ins of one name in two folders → the administrator's", () => {
  put(PACKAGE, unit("run $F"));
  put(`usr/lib/systemd/system/${UNIT_NAME}.d/a.conf`, "[Service]\nEnvironment=F=--package\n");
  put(`etc/systemd/system/${UNIT_NAME}.d/a.conf`, "[Service]\nEnvironment=F=--own\n");
  put(`etc/systemd/system/${UNIT_NAME}.d/a.txt`, "[Service]\nEnvironment=F=--text\n");
  expect(found()?.flags).toEqual(["--own"]);
});

it("a unit of another program → no service", () => {
  put(OWN, unit("sleep"));
  expect(found()).toBeNull();
});

it("masked by an administrator → no service", () => {
  put(PACKAGE, unit("run"));
  mkdirSync(join(folder.path, dirname(OWN)), { recursive: true });
  symlinkSync("/dev/null", join(folder.path, OWN));
  expect(found()).toBeNull();
});

it("a path that is no file → one line that names it", () => {
  mkdirSync(join(folder.path, OWN), { recursive: true });
  expect(found).toThrow(/rollcall-node-shim\.service, which the service reads, cannot be read \(EISDIR\)$/);
});

test.each<[given: string[], missing: string | null]>([
  [[], null],
  [["--max-pods=7"], null],
  [["--node-labels=a=b"], null],
  [["--hostname-override=edge-7", "--node-labels=a=b"], "--hostname-override=edge-7"],
  [["--max-pods=8", "--node-labels=a=c"], "--max-pods=8 --node-labels=a=c"],
])("flags %j of a packaged service with --max-pods 7 --node-labels=a=b → missing: %s", (given, missing) => {
  put(PACKAGE, unit("run --max-pods 7 $F"));
  put("etc/rollcall/x.env", "F=--node-labels=a=b\n");
  expect(missingFlags(folder.path, given)).toBe(
    missing &&
      `the service does not have ${missing}: add it to NODE_SHIM_FLAGS= in /etc/rollcall/node-shim.env, then systemctl restart rollcall-node-shim.service`,
  );
});

// Tests which of a shell's variables the service lacks: without them the service may not reach the Worker.

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
])(
  "%s → the variable to write into the file, without its value",
  (_situation, environment, file, missing) => {
    mkdirSync(join(root.path, "etc/rollcall"), { recursive: true });
    if (file !== null) writeFileSync(join(root.path, "etc/rollcall/node-shim.env"), file);
    const line = missingVariables(root.path, environment);
    expect(line).toBe(
      missing &&
        `the service does not have ${missing} of this shell: write it into /etc/rollcall/node-shim.env (mode 0600), then systemctl restart rollcall-node-shim.service`,
    );
  },
);
