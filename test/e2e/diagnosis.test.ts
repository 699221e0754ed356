// Tests over the Worker of `npm start`, with the shim's package on two Debians under systemd: `rollcall diagnose` names the
// cause of each fault that is made on one of them, and none on the other. `rollcall logs -f` follows a log until it is left.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { mintToken } from "../../infra/local/admin.ts";
import { ask as askWorker } from "../../infra/operator/client.ts";
import { runCommandLine } from "../../infra/operator/program.ts";
import { questionsSchema } from "../../shared/protocol/operator-answers.ts";
import { DEB } from "../process/infra/deb/build-packages.ts";
import { bootDebian, type DebianMachine, installDeb, needingDebian, packagesIn } from "./debian-machine.ts";
import { eventually, outputOf, ROOT, type Start, startLocal, temporaryFolder } from "./local-cluster.ts";
import { workerAt, type WorkerAccess } from "./own-worker.ts";
import { thisRun } from "./run-record.ts";

const { isSkipped, title } = needingDebian("a diagnosis", "node");

interface Fault {
  fault: string;
  /** The script that makes the fault, and the script that takes it back. */
  make: string;
  mend: string;
  /** The finding, and the question that shows more. */
  cause: RegExp;
  todo: RegExp;
  url?: () => string;
  /** true if the machines share what is faulty: one kernel and one network serve both here. */
  isShared?: true;
  /** Runs on this computer. */
  before?: () => void;
}

/** Lets the kernel of this computer, which is also the machine's, kill a process for lack of memory. */
function killForMemory(): void {
  const v1 = "/sys/fs/cgroup/memory";
  const [parent, limit] = existsSync(v1) ? [v1, "memory.limit_in_bytes"] : ["/sys/fs/cgroup", "memory.max"];
  const group = join(parent, `rollcall-hungry-${process.pid}`);
  mkdirSync(group);
  try {
    writeFileSync(join(group, limit), String(32 * 1024 * 1024));
    const script = `echo $$ > ${group}/cgroup.procs; exec node -e 'for(let i=0,a=[];i<200;i++)a.push(Buffer.alloc(1e6,1))'`;
    expect(spawnSync("sh", ["-c", script]).signal).toBe("SIGKILL");
  } finally {
    rmdirSync(group);
  }
}

const RUNTIME = `[Unit]
Description=a container runtime
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
`;

/** The URLs of two servers in place of a Worker. */
let served: { expired: string; late: string };
const FAULTS: readonly Fault[] = [
  {
    fault: "a full disk",
    make: "mkdir -p /srv/a && mount -t tmpfs -o size=32m none /srv/a && (cat /dev/zero > /srv/a/x || true) 2> /dev/null",
    mend: "umount /srv/a",
    cause: /^fail +disk +\/srv\/a \(none\) is full: 100 % of 32 MiB are used$/m,
    todo: /→ ask folders path=\/srv\/a$/m,
  },
  {
    fault: "no inodes",
    make: "mkdir -p /srv/a && mount -t tmpfs -o size=32m,nr_inodes=50 none /srv/a && (seq 99 | xargs -I N touch /srv/a/N || true) 2> /dev/null",
    mend: "umount /srv/a",
    cause: /^fail +disk +\/srv\/a \(none\) is full: 100 % of its inodes/m,
    todo: /→ ask folders path=\/srv\/a$/m,
  },
  {
    fault: "a disk that has become read-only",
    make: "mkdir -p /srv/a && echo 'none /srv/a tmpfs defaults 0 0' >> /etc/fstab && mount /srv/a && mount -o remount,ro /srv/a",
    mend: "umount /srv/a; sed -i /srv/d /etc/fstab",
    cause: /^fail +disk +\/srv\/a \(none\) is read-only, though \/etc\/fstab mounts it for writing$/m,
    todo: /→ ask logs kernel=yes/m,
  },
  {
    fault: "a unit that fails",
    make: "systemd-run --unit=web --quiet --wait sh -c 'exit 3' || true",
    mend: "systemctl reset-failed",
    cause: /^fail +unit +web\.service has failed \(exit-code, exit code 3\)$/m,
    todo: /→ ask logs unit=web\.service lines=20$/m,
  },
  {
    fault: "a unit that ends again and again",
    make: "systemd-run --unit=web --quiet -p Restart=always -p RestartSec=60 sh -c 'exit 1' && until systemctl show -P SubState web | grep -q auto-restart; do sleep 0.1; done",
    mend: "systemctl stop web; systemctl reset-failed || true",
    cause: /^fail +unit +web\.service ends again and again \(exit-code, exit code 1; \d+ restarts\)$/m,
    todo: /→ ask logs unit=web\.service lines=20$/m,
  },
  {
    fault: "a process that was killed for lack of memory",
    isShared: true,
    make: "true",
    before: killForMemory,
    mend: "true",
    cause: /^\w+ +memory +the kernel killed (processes|node) for lack of memory/m,
    todo: /→ ask (boots|processes by=memory top=5)$/m,
  },
  {
    fault: "a container runtime that was stopped",
    make: `cat > /etc/systemd/system/containerd.service && systemctl enable -q --now containerd && systemctl stop containerd`,
    mend: "systemctl disable -q containerd; rm /etc/systemd/system/containerd.service; systemctl daemon-reload",
    cause: /^fail +unit +containerd\.service is enabled, but does not run$/m,
    todo: /→ ask logs unit=containerd\.service lines=20$/m,
  },
  {
    fault: "a container runtime that does not answer",
    make: `mkdir -p /run/containerd && systemd-run --unit=deaf --quiet node -e 'require("net").createServer(s=>s.destroy()).listen("/run/containerd/containerd.sock")' && until test -S /run/containerd/containerd.sock; do sleep 0.1; done`,
    mend: "systemctl stop deaf; rm -f /run/containerd/containerd.sock",
    cause: /^fail +runtime +the container runtime does not answer: \/run\/containerd\/containerd\.sock: /m,
    todo: /→ ask units$/m,
  },
  {
    fault: "a process that uses all CPUs",
    isShared: true,
    make: "systemd-run --unit=busy --quiet -p CPUWeight=10000 sh -c 'for _ in 1 2 3 4; do yes > /dev/null & done; wait'",
    mend: "systemctl stop busy",
    cause: /^warn +cpu +.*yes \(process \d+\) uses \d+ % of a CPU/m,
    todo: /→ ask processes top=5$/m,
  },
  {
    fault: "a name server that does not answer",
    make: "cp /etc/resolv.conf /tmp/resolv; echo nameserver 127.0.0.77 > /etc/resolv.conf",
    mend: "cp /tmp/resolv /etc/resolv.conf",
    cause: /^(fail +DNS +rollcall\.test has no address|not checked: way to the Worker: no answer)/m,
    todo: /resolver|not checked/m,
    url: () => "https://rollcall.test",
  },
  {
    fault: "a certificate that has ended",
    make: "true",
    mend: "true",
    cause: /^fail +TLS +the certificate ended \d+ days ago$/m,
    todo: /→ renew it, or set this machine's clock/m,
    url: () => served.expired,
  },
  {
    fault: "a clock that is wrong",
    make: "true",
    mend: "true",
    cause: /^warn +clock +90 s ahead of the Worker's$/m,
    todo: /→ set it and keep it set: timedatectl/m,
    url: () => served.late,
  },
  {
    fault: "a link that has lost its carrier",
    isShared: true,
    make: "ip link add rc-a type veth peer name rc-b && ip link set rc-b up && ip link set rc-a up && for _ in 1 2 3; do ip link set rc-b down; ip link set rc-b up; done && ip route add default dev rc-a metric 4000000000",
    mend: "ip link del rc-a",
    cause: /^warn +link +rc-a lost its carrier \d+ times since the boot$/m,
    todo: /→ ask network$/m,
  },
];

/** Serves /livez in a process of its own: with the given certificate, and with a clock that is 90 s behind. */
const SERVERS = `
const ok = (_, response) => response.setHeader("date", new Date(Date.now() - 90000).toUTCString()).end("ok");
const { readFileSync } = require("fs");
const [key, cert] = process.argv.slice(1).map((path) => readFileSync(path));
const servers = [require("https").createServer({ key, cert }, ok), require("http").createServer(ok)];
let left = servers.length;
for (const server of servers)
  server.listen(0, "127.0.0.1", () => --left || console.log(servers.map((each) => each.address().port).join(" ")));
`;

async function serve(folder: string): Promise<ChildProcess> {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const subject = ["-newkey", "rsa:2048", "-nodes", "-keyout", at("key"), "-subj", "/CN=localhost"];
  openssl("req", "-new", ...subject, "-out", at("request"));
  writeFileSync(at("index"), "");
  writeFileSync(
    at("ca"),
    `[ca]\ndefault_ca=a\n[a]\nnew_certs_dir=${folder}\ndatabase=${at("index")}\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n`,
  );
  // Only this command of openssl makes a certificate that has ended.
  const files = ["-config", at("ca"), "-keyfile", at("key"), "-in", at("request"), "-out", at("certificate")];
  openssl(
    "ca",
    "-batch",
    "-selfsign",
    ...files,
    "-startdate",
    "20240101000000Z",
    "-enddate",
    "20240201000000Z",
  );
  const args = ["-e", SERVERS, at("key"), at("certificate")];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [ports] = (await once(child.stdout, "data")) as [Buffer];
  const [expired, late] = ports.toString().trim().split(" ");
  served = { expired: `https://localhost:${expired}`, late: `http://127.0.0.1:${late}` };
  return child;
}

/** Milliseconds within which an operator has the cause: 5 s where cores are free, and twice that on a busy computer. */
const WITHIN_MS = 10_000;
/** Milliseconds within which an operator has a new line, also on a busy computer. */
const LINE_WITHIN_MS = 2000;
const NAMES = ["edge-a", "edge-b"] as const;

describe.skipIf(isSkipped)(title, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let cluster: Start;
  let worker: WorkerAccess;
  let servers: ChildProcess | undefined;
  const machines: DebianMachine[] = [];
  beforeAll(async () => {
    folder = temporaryFolder();
    servers = await serve(folder.path);
    cluster = startLocal(["--state", join(folder.path, "cluster")]);
    const packages = await packagesIn(folder.path);
    const [, url = ""] = await cluster.printed(/^Worker ready at (http:\S+)/m);
    worker = workerAt(url, readFileSync(join(folder.path, "cluster/admin-secret"), "utf8").trim());
    for (const name of NAMES) machines.push(await joined(name, join(packages, DEB)));
    for (const name of NAMES) await eventually(() => isAsked(name));
  });
  afterAll(async () => {
    for (const machine of machines) await machine.stop();
    servers?.kill();
    cluster?.end("SIGINT");
    await cluster?.ended;
    folder.remove();
  });

  /** Boots a machine that is called `name`, and whose shim answers questions. */
  async function joined(name: string, deb: string): Promise<DebianMachine> {
    const machine = await bootDebian(name);
    installDeb(machine, deb);
    machine.run("echo 127.0.0.1 localhost > /etc/hosts");
    machine.run("echo NODE_SHIM_FLAGS=--questions=safe > /etc/rollcall/node-shim.env");
    const wish = { names: name, uses: 1, withoutFactsOnlyTaint: false };
    const token = await mintToken(worker.url, worker.adminSecret, wish);
    machine.run(`node-shim join --url ${worker.url} --join-token-file - --install-service`, token);
    return machine;
  }

  /** Returns whether the machine's socket takes questions. */
  async function isAsked(name: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${worker.adminSecret}` };
    const request = { method: "GET", path: `/v1/nodes/${name}/questions` } as const;
    const answer = await askWorker({ url: worker.url, headers }, request);
    return answer.ok && questionsSchema.parse(answer.value).withinSeconds === undefined;
  }

  /** Returns what `ask` says once the machine may be asked: the Worker takes ten questions a minute to one machine. */
  const inRate = <Said extends { text: string }>(ask: () => Promise<Said>): Promise<Said> =>
    eventually(async () => {
      const said = await ask();
      return !said.text.startsWith("rollcall: These are too many requests.") && said;
    });

  /** Runs the command. Returns its output, and the milliseconds until the output had `wanted`. */
  async function diagnose(name: string, wanted: RegExp): Promise<{ text: string; ms: number }> {
    const beganMs = performance.now();
    let [text, ms] = ["", Infinity];
    const write = (more: string) => {
      text += more;
      if (ms === Infinity && wanted.test(text)) ms = performance.now() - beganMs;
    };
    const env = { ROLLCALL_URL: worker.url, ROLLCALL_ADMIN_SECRET: worker.adminSecret };
    await runCommandLine(["diagnose", name], {
      process: { env, stdout: { write }, stderr: { write }, exitCode: 0 },
      terminal: { isInteractive: false, ask: () => Promise.reject(new Error("there is no terminal")) },
      now: Date.now,
      pause: () => Promise.resolve(),
      changesOf: () => expect.fail(),
    });
    return { text, ms };
  }

  test.each(FAULTS.map((each, index) => ({ ...each, index })))(
    "$fault → its cause, what shows more, and no word of it from the other machine",
    async ({ index, fault, before, make, mend, cause, todo, url, isShared }) => {
      const [at, other] = index % 2 === 0 ? [0, 1] : [1, 0];
      const machine = machines[at]!;
      onTestFinished(() => void machine.sh(`sed -i '/^ROLLCALL_URL/d' /etc/rollcall/node-shim.env; ${mend}`));
      before?.();
      machine.run(make, RUNTIME);
      // The shim itself keeps its Worker: only what answers the question reads the file again.
      if (url) machine.run(`echo ROLLCALL_URL=${url()} >> /etc/rollcall/node-shim.env`);
      const { text, ms } = await inRate(() => diagnose(NAMES[at]!, cause));
      thisRun().log(`diagnose: ${fault}`, `${Math.round(ms)} ms\n${text}`);
      expect(text).toMatch(cause);
      expect(text).toMatch(todo);
      expect(ms).toBeLessThan(WITHIN_MS);
      if (isShared) return;
      const { text: elsewhere } = await inRate(async () => {
        const { stdout, stderr } = await worker.rollcall(["ask", NAMES[other]!, "diagnosis"]);
        return { text: stdout + stderr };
      });
      expect(elsewhere).toMatch(/^no fault found: /m);
      expect(elsewhere).not.toMatch(cause);
    },
  );

  describe("rollcall logs -f", () => {
    const [name] = NAMES;
    beforeAll(async () => {
      const { run } = machines[0]!;
      // The machine's journald has started without the device of the kernel's log.
      run("mknod -m 600 /dev/kmsg c 1 11 && systemctl restart systemd-journald");
      run("mkfifo /run/chat && systemd-run --unit=chat --quiet sh -c 'exec cat <> /run/chat'");
      run("sed -i s/=safe/=safe,logs/ /etc/rollcall/node-shim.env && systemctl restart rollcall-node-shim");
      await eventually(async () => (await worker.rollcall(["ask", name])).stdout.includes("follow "));
    });

    /** Follows a log in a process of its own. Rejects if the process ends before it has printed a line of the log. */
    async function follow(secret: string, log: readonly string[], file: string) {
      const env = { PATH: process.env["PATH"], ROLLCALL_URL: worker.url, ROLLCALL_SECRET: secret };
      const args = ["infra/operator/main.ts", "logs", name, ...log, "--follow"];
      const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
      const ended = new Promise<number | null>((done) => child.once("close", done));
      const { printed, output } = outputOf([child.stdout, child.stderr], ended);
      let written = 0;
      /** Writes a line to the log. Resolves with the milliseconds until the command has printed it. */
      const line = async () => {
        const text = `line ${++written} for ${child.pid}`;
        machines[0]!.run(`echo '${text}' > ${file}`);
        const beganMs = performance.now();
        await printed(new RegExp(`: ${text}$`, "m"));
        return performance.now() - beganMs;
      };
      await line();
      return { child, ended, output, line };
    }
    const isFollowed = () => machines[0]!.sh("pgrep -f '[j]ournalctl .*--follow'").code === 0;

    test.each([
      { log: "a unit's log", args: ["-u", "chat"], file: "/run/chat" },
      { log: "the kernel's log", args: ["-k"], file: "/dev/kmsg" },
    ])(
      "$log → its lines as they come; Ctrl+C, a revoked operator → no more on the machine",
      async ({ log, args, file }) => {
        const operator = `follower${args[0]}`;
        const { stdout } = await worker.rollcall(["operators", "add", operator, "--role", "operator"]);
        // The Worker takes ten questions a minute to one machine.
        const begun = () => eventually(() => follow(stdout.trim(), args, file));

        async function endsBy(way: string, end: () => unknown): Promise<void> {
          const beganMs = performance.now();
          await end();
          await eventually(async () => !isFollowed());
          const endedMs = performance.now() - beganMs;
          thisRun().log(`${log}, ${way}`, `ended after ${Math.round(endedMs)} ms`);
          expect(endedMs).toBeLessThan(WITHIN_MS);
        }

        const first = await begun();
        for (let lines = 0; lines < 5; lines++) expect(await first.line()).toBeLessThan(LINE_WITHIN_MS);
        expect(isFollowed()).toBe(true);
        await endsBy("Ctrl+C", () => first.child.kill("SIGINT"));
        const second = await begun();
        expect(isFollowed()).toBe(true);
        await endsBy("a revoked operator", () => worker.rollcall(["operators", "revoke", operator]));
        expect(await second.ended).toBe(1);
        expect(second.output()).toContain("the operator may not ask any more");
      },
    );
  });

  test("after all of that → both machines are Ready on their sockets", async () => {
    for (const name of NAMES) {
      expect(await isAsked(name)).toBe(true);
      expect((await worker.rollcall(["node", name])).stdout).toMatch(/ready/i);
    }
  });
});
