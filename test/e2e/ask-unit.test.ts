// Tests on a Debian under systemd that rollcall-ask.socket answers questions: for root alone, as the machine's owner has
// allowed it, in a sandbox that sees all file systems and changes none.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { proofBy, publicLine } from "../../infra/operator/question-key.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { ASK_SOCKET, ASK_SOCKET_UNIT, UNIT_NAME } from "../../node-shim/service/unit.ts";
import { DEB } from "../process/infra/deb/build-packages.ts";
import { bootDebian, type DebianMachine, installDeb, needingDebian, packagesIn } from "./debian-machine.ts";
import { eventually, temporaryFolder } from "./local-cluster.ts";

const { isSkipped, title } = needingDebian("questions", "node");

const TRY =
  "for path in /x /run/lock/x /dev/shm/x; do touch $path 2> /dev/null && echo $path; done; cat /var/lib/rollcall/key.json 2> /dev/null || echo cannot read the key";
const LOOK = `id -u; grep -E '^(CapEff|NoNewPrivs)' /proc/self/status | tr -s '[:blank:]' ' '; ${TRY}`;

/** Connects to the unit as the shim does, sends the standard input, and prints what comes. */
const CONNECT = `node -e '${[
  `const socket = require("net").connect("${ASK_SOCKET}")`,
  'socket.on("error", ({ code }) => console.log(code)).on("data", (data) => process.stdout.write(data))',
  'socket.write(require("fs").readFileSync(0))',
].join(";")}'`;
const DISKS = { name: "disks", parameters: {} };
/** The files of the owner's own questions. */
const OWN = {
  hello: `description: says hello
program: /bin/sh
arguments: ["-c", "echo hello $1, token=hunter2; ${LOOK}", sh, "{who}"]
parameters:
  who: { type: text, pattern: "[a-zA-Z $%{}]+" }
`,
  "as-root": `description: says who it is
program: /bin/sh
arguments: ["-c", "id -u; ${TRY}"]
user: root
`,
  slow: `description: sleeps
program: /bin/sleep
arguments: ["599"]
timeoutSeconds: 60
`,
  wrong: "description: is wrong\nprogram: /bin/true\nshell: true\n",
};
/** The lines of a program that logs secrets, by class: what a bundle must not have is in braces. */
const LOGGED: Readonly<Record<string, string>> = {
  "Authorization in a log": "planted GET /v1 Authorization: Digest {planted-digest-0123456789}",
  "a bearer token": "planted curl -H 'X: bearer {planted.bearer.0123456789abcdef}'",
  "a cookie": "planted Set-Cookie: session={planted-cookie-1}; path=/",
  "a password in JSON": String.raw`planted {"level":"info","db_password":"{planted-\"json}"}`,
  "a token in a query": "planted GET /hook?access_token={planted-query-1}&page=2",
  "a password in a URL": "planted postgres://app:{planted-url-1}@db.internal/app",
  "an argument": "planted mysqldump --db-password {planted-argument-1} app",
  "a join token": `planted {rcj1_${"J".repeat(43)}}`,
  "an operator's secret": `planted {rco_${"O".repeat(43)}}`,
  "a JWT": "planted {eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.cGxhbnRlZC1zaWduYXR1cmU}",
  "a key of a cloud": "planted {AKIAPLANTED012345678}",
  "a JWK": 'planted {"kty":"OKP","d":"{planted-jwk-0123456789}"}',
  "a key in PEM": "{-----BEGIN PRIVATE KEY-----}\n{cGxhbnRlZFBFTQ}\n-----END PRIVATE KEY-----",
};
/** What a bundle must not have, by class. */
const PLANTED: Readonly<Record<string, string[]>> = {
  ...Object.fromEntries(
    Object.entries(LOGGED).map(([kind, line]) => [
      kind,
      [...line.matchAll(/\{([^{}:]{8,})\}/g)].map(([, one = ""]) => one),
    ]),
  ),
  "the machine's key": ["key of the machine"],
  "a file of the state folder": ["planted-enrolment"],
  "the join token": [`rcj1_${"F".repeat(43)}`],
  "the environment of a unit": ["planted-environment"],
  "an argument of a process": ["planted-process"],
};
const KEY = '{"d":"key of the machine"}';

describe.skipIf(isSkipped)(title, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let machine: DebianMachine;
  beforeAll(async () => {
    folder = temporaryFolder();
    const packages = await packagesIn(folder.path);
    machine = await bootDebian("asked");
    installDeb(machine, join(packages, DEB));
    expect(sh(`systemctl is-enabled ${ASK_SOCKET_UNIT} || true`)).toBe("disabled");
    sh("useradd alice && mkdir -p -m 700 /home/alice && echo hers > /home/alice/app.log");
    sh("chmod 600 /home/alice/app.log && chown -R alice: /home/alice");
    sh(`mkdir -p -m 700 /var/lib/rollcall && echo '${KEY}' > /var/lib/rollcall/key.json`);
    sh(
      "echo NODE_SHIM_FLAGS=--questions=safe,logs,files,commands,own:hello,own:as-root,own:slow,own:wrong --question-files=/home,/home/alice/secrets.log,/var/lib > /etc/rollcall/node-shim.env",
    );
    sh("mkdir /etc/rollcall/questions.d");
    for (const [name, text] of Object.entries(OWN)) sh(`cat > /etc/rollcall/questions.d/${name}.yaml`, text);
    plant();
    sh("node-shim install-service");
  });
  afterAll(async () => {
    await machine?.stop();
    folder.remove();
  });

  /** Puts the secrets where a bundle reads, or could read. */
  function plant(): void {
    const lines = Object.values(LOGGED).map((line) => line.replaceAll(/\{([^{}:]{8,})\}/g, "$1"));
    sh("cat > /home/alice/secrets.log && chown alice: /home/alice/secrets.log", `${lines.join("\n")}\n`);
    sh("echo planted-enrolment > /var/lib/rollcall/enrolment.json");
    sh(`echo rcj1_${"F".repeat(43)} > /etc/rollcall/join-token`);
    sh(
      "systemd-run --unit=leaky --quiet -p Environment=APP_KEY=planted-environment --wait sh -c 'cat /home/alice/secrets.log; exit 3' || true",
    );
    sh("systemd-run --unit=running --quiet sh -c 'sleep 600; true --api-key=planted-process'");
  }

  const sh: DebianMachine["run"] = (script, input) => machine.run(script, input);
  const ask = (question: string) => machine.sh(`node-shim ask ${question}`);

  it("install-service, with --questions in its environment → the socket listens, for root alone", () => {
    expect(sh(`systemctl is-enabled ${ASK_SOCKET_UNIT} && systemctl is-active ${ASK_SOCKET_UNIT}`)).toBe(
      "enabled\nactive",
    );
    expect(sh(`stat -c '%U %a' ${ASK_SOCKET}`)).toBe("root 600");
    expect(sh(`setpriv --reuid alice --clear-groups ${CONNECT}`, "{}")).toBe("EACCES");
  });

  test.each<[question: string, text: RegExp]>([
    ["disks", /^\/ +overlay .* rw$/m],
    ["processes", /^ +1 +0 .* systemd$/m],
    ["units", /^failed units:\n/],
    [`units unit=${ASK_SOCKET_UNIT}`, /^ActiveState=active$/m],
    [`logs unit=${ASK_SOCKET_UNIT}`, /systemd\[1\]: Listening on rollcall-ask\.socket/],
    ["files path=/home/alice/app.log", /^hers\n$/],
    ["folders path=/home", /^ *\d.* \/home\/alice$/m],
    ["boots", /^up for \d+/],
    ["hardware", /^\w+:/],
  ])("%s → an answer from the unit", (question, text) => {
    const { code, stdout, stderr } = ask(question);
    expect({ code, stderr: stderr.replaceAll(/^node-shim: as the service does.*\n/gm, "") }).toEqual({
      code: 0,
      stderr: "",
    });
    expect(stdout).toMatch(text);
  });

  it("asked from the shim's own sandbox → the unit answers, with what that sandbox hides", () => {
    sh(
      `sed -e '/^Condition/d' -e 's/^Type=.*/Type=oneshot/' -e '/^Restart/d' -e 's/^ExecStart=.*/ExecStart=node-shim ask files path=\\/home\\/alice\\/app.log/' /usr/lib/systemd/system/${UNIT_NAME} > /run/systemd/system/as-shim.service`,
    );
    sh("systemctl daemon-reload && systemctl start as-shim");
    expect(sh("journalctl -u as-shim -o cat")).toMatch(/^hers$/m);
  });

  it("a bundle → a file that tar reads, from a process that can write to no disk", () => {
    const listed = sh("node-shim ask bundle 2> /dev/null | tar -tzf -").split("\n");
    expect(listed).toEqual(
      expect.arrayContaining(["bundle/disks.txt", "bundle/files/home.txt", "bundle/manifest.json"]),
    );
  });

  it("secrets in logs, files, the state folder, environments and arguments → none is in a bundle", () => {
    const all = sh("node-shim ask bundle 2> /dev/null | tar -xzOf -");
    // The lines themselves are there, from the journal and from the file.
    expect(all.match(/planted GET \/v1 Authorization: \[redacted\]/g)).toHaveLength(2);
    expect(all).toMatch(/--api-key=\[redacted\]/);
    const found = Object.entries(PLANTED).filter(([, secrets]) =>
      secrets.some((secret) => all.includes(secret)),
    );
    expect(found).toEqual([]);
    for (const secrets of Object.values(PLANTED)) expect(secrets.length).toBeGreaterThan(0);
  });

  test.each<[situation: string, asked: string, refused: RegExp]>([
    [
      "is off",
      '{"name":"container-logs","parameters":{"container":"a"}}',
      /"refused","fault":"container-logs is off/,
    ],
    [
      "brings its own switch",
      '{"name":"units","parameters":{},"on":["units"]}',
      /"refused","fault":"on: unknown/,
    ],
    ["is no JSON", "units", /"refused"/],
    [
      "asks for the key",
      '{"name":"files","parameters":{"path":"/var/lib/rollcall/key.json"}}',
      /"failed","fault":"[^"]*the shim's state folder is secret/,
    ],
  ])("a question to the unit that %s → refused by the unit itself", (_, asked, refused) => {
    const answer = sh(CONNECT, `${asked}\n`);
    expect(answer).toMatch(refused);
    expect(answer).not.toContain("key of the machine");
  });

  it("with pinned keys → an administrator's command needs no proof, and the unit answers the shim's service only with one", async () => {
    const key = { key: await makeMachineKey(), comment: "alice" };
    const asked = { machine: sh("hostname"), challenge: "A".repeat(22), question: DISKS };
    sh("cat > /etc/rollcall/operator-keys", publicLine(key));
    sh("sed -i 's#$# --questions-from=/etc/rollcall/operator-keys#' /etc/rollcall/node-shim.env");
    expect(ask("disks").code).toBe(0);
    // The shim's service runs a script before the shim. The unit reads the service's flags in ExecStart=.
    sh("cat > /usr/local/bin/as-shim", `#!/bin/sh\n${CONNECT} < /etc/rollcall/asked\n`);
    sh(`chmod 755 /usr/local/bin/as-shim && mkdir -p /run/systemd/system/${UNIT_NAME}.d`);
    const dropIn = "Restart=no\nExecStartPre=/usr/local/bin/as-shim\n";
    sh(
      `cat > /run/systemd/system/${UNIT_NAME}.d/asks.conf`,
      `[Unit]\nConditionPathExists=\n[Service]\n${dropIn}`,
    );
    const asService = (line: object) => {
      sh("cat > /etc/rollcall/asked", `${JSON.stringify(line)}\n`);
      sh(`systemctl daemon-reload && systemctl restart ${UNIT_NAME}`);
      return sh(`journalctl -u ${UNIT_NAME} -o cat -I`);
    };
    expect(asService(DISKS)).toContain('"refused","fault":"the shim has passed on no proof"');
    expect(asService({ ...DISKS, proof: await proofBy(key, asked) })).toContain('"reason":"complete"');
    sh(`systemctl stop ${UNIT_NAME}; rm -r /run/systemd/system/${UNIT_NAME}.d && systemctl daemon-reload`);
  });

  it("a question of the owner's → its program, as a user that exists only meanwhile, with the value as it is", () => {
    const { code, stdout, stderr } = machine.sh(`node-shim ask own:hello 'who=$HOME \${X} %n'`);
    expect([code, stderr.replaceAll(/^node-shim: as the service does.*\n/gm, "")]).toEqual([0, ""]);
    const [value, user, ...others] = stdout.trim().split("\n");
    expect(value).toBe(`hello $HOME \${X} %n, token=[redacted]`);
    expect(Number(user)).toBeGreaterThan(60_000);
    expect(others).toEqual(["CapEff: 0000000000000000", "NoNewPrivs: 1", "cannot read the key"]);
    expect(sh("ls /x 2> /dev/null || echo none")).toBe("none");
  });

  it("user: root in its file → root, who can write to no disk and read no key", () => {
    expect(sh("node-shim ask own:as-root 2> /dev/null")).toBe("0\ncannot read the key");
  });

  it("a file with a fault → refused with the fault, by doctor too; a value that its pattern refuses → refused", () => {
    const fault = "/etc/rollcall/questions.d/wrong.yaml: shell: unknown field";
    expect(ask("own:wrong")).toMatchObject({ code: 1, stderr: expect.stringContaining(fault) as string });
    expect(machine.sh("node-shim doctor").stdout).toContain(`own:wrong is off: ${fault}`);
    expect(ask("own:hello 'who=a;b'").stderr).toContain("who: does not match");
    expect(sh("node-shim ask questions 2> /dev/null")).toMatch(/^ 10 s {2}64 KiB {2}own:hello who=TEXT$/m);
  });

  it("the asker leaves a question of the owner's → its program ends", async () => {
    sh("node-shim ask own:slow > /dev/null 2>&1 & echo $! > /tmp/asker");
    const running = () => machine.sh("pgrep -f '^/bin/sleep 599'").code === 0;
    await eventually(async () => running());
    sh("kill $(cat /tmp/asker)");
    await eventually(async () => !running());
    await eventually(async () => sh("systemctl list-units --all --no-legend 'rollcall-own*'") === "");
  });

  it("a question that waits → a process with one capability, which can neither write nor read the key; its end leaves nothing", async () => {
    // Without a line, the unit waits.
    sh(`echo -n " " | ${CONNECT} > /dev/null 2>&1 & echo $! > /tmp/asker`);
    const main = () => sh("systemctl show --value --property MainPID 'rollcall-ask@*'");
    await eventually(async () => /^[1-9]\d*$/.test(main()));
    const pid = main();
    await eventually(async () => sh(`tr '\\0' ' ' < /proc/${pid}/cmdline`).includes("ask --serve"));
    const confined = sh(`grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/${pid}/status`);
    expect(confined.replaceAll(/\s+/g, " ")).toBe("CapEff: 0000000000000004 NoNewPrivs: 1 Seccomp: 2");
    const inside = (script: string) => machine.sh(`nsenter --target ${pid} --mount sh -c '${script}'`);
    for (const path of [
      "/etc/x",
      "/var/x",
      "/tmp/x",
      "/run/x",
      "/home/x",
      "/root/x",
      "/dev/shm/x",
      "/proc/1/comm",
    ])
      expect([path, inside(`echo x > ${path}`).stderr]).toEqual([
        path,
        expect.stringContaining("Read-only file system"),
      ]);
    expect(inside("cat /var/lib/rollcall/key.json").stdout).toBe("");
    sh("kill $(cat /tmp/asker)");
    await eventually(async () => machine.sh(`test -e /proc/${pid}`).code !== 0);
    expect(sh("systemctl list-units --all --no-legend 'rollcall-ask@*'")).toBe("");
  });

  it("uninstall-service → no socket, and a removed package leaves no unit", () => {
    sh("node-shim uninstall-service");
    expect(machine.sh(`test -e ${ASK_SOCKET}`).code).toBe(1);
    sh("dpkg -P rollcall-node-shim");
    expect(machine.sh("systemctl cat rollcall-ask.socket").code).not.toBe(0);
  });
});
