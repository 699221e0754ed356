// Tests the question for what is wrong: each fault on a played machine, and the finding that names it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import { fail, ok, warn } from "../../../node-shim/doctor/finding.ts";
import { diagnosis } from "../../../node-shim/questions/diagnosis.ts";
import type { Asking } from "../../../node-shim/questions/source.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { heldTimers } from "../base/timers.ts";
import { collected, NOW_MS, played } from "./asking.ts";

let root: string;
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};

/** The outputs of a machine's programs, and its files: a machine without a fault. */
const SOUND = {
  "systemctl show": "Id=ssh.service\nActiveState=active\n",
  "stat -f": "4096 100000 80000 80000 1000 900\n",
};
const kernelSays = (...messages: string[]) =>
  messages
    .map((MESSAGE) => `${JSON.stringify({ MESSAGE, __REALTIME_TIMESTAMP: String(NOW_MS * 1000) })}\n`)
    .join("");
const mounted = (line: string) => write("proc/self/mountinfo", `1 0 8:1 / ${line}\n`);

function processUses(pid: number, name: string, cpuTicks: number, memoryKib: number, written = 0): void {
  write(`proc/${pid}/stat`, `${pid} (${name}) S 1 1 1 0 -1 0 0 0 0 0 ${cpuTicks} 0 0 0 20 0 1 0 5 0 0`);
  write(`proc/${pid}/status`, `Name:\tx\nUid:\t0\t0\t0\t0\nVmRSS:\t  ${memoryKib} kB\n`);
  write(`proc/${pid}/io`, `read_bytes: 0\nwrite_bytes: ${written}\n`);
}
/** Lets 90 processes use the CPUs of a machine that has 64. */
function manyUse(cpuTicks: number): void {
  write("proc/stat", Array.from({ length: 64 }, (_, at) => `cpu${at} 1\n`).join(""));
  for (let pid = 7; pid < 97; pid++) processUses(pid, "java", cpuTicks, pid === 7 ? 700_000 : 1000);
}
const pressed = (kind: string, avg60: number) =>
  write(`proc/pressure/${kind}`, `some avg10=0.00 avg60=${avg60.toFixed(2)} avg300=0.00 total=1\n`);

beforeEach(() => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  root = path;
  write("proc/uptime", "99999.50 1.0\n");
  write("proc/stat", "cpu  1\ncpu0 1\ncpu1 1\n");
  write("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 500000 kB\n");
  mounted("/ rw - ext4 /dev/sda1 rw");
  processUses(7, "java", 100, 700_000);
});

/** Asks, and lets a second pass, after `meanwhile`. */
async function said(
  outputs: Record<string, string> = {},
  over: Partial<Asking> = {},
  meanwhile = () => {},
): Promise<string[]> {
  const pass = heldTimers();
  let nowMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  const all = { ...SOUND, _TRANSPORT: kernelSays("all is well"), ...outputs };
  const lines = collected(diagnosis({}, played(all, { root, ...over })));
  for (let round = 0; round < 5; round++) await new Promise((resolve) => void setImmediate(resolve));
  meanwhile();
  for (const ms of [1000, 3300, 1000]) {
    nowMs += ms;
    pass(ms);
    for (let round = 0; round < 5; round++) await new Promise((resolve) => void setImmediate(resolve));
  }
  return (await lines).map((line) => line.replaceAll(/\s+/g, " ").trim());
}

const NAMES = "disks, units, runtime, way to the Worker, load, kernel's log, links, heat, boot";

it("a sound machine → the checks that found nothing", async () => {
  expect(await said()).toEqual([`no fault found: ${NAMES}`]);
});

interface Fault {
  outputs?: Record<string, string>;
  over?: Partial<Asking>;
  make?: () => void;
  meanwhile?: () => void;
}

const RUNS = "2026-11-27T12:00:00.000Z";

describe("a fault → its cause, and the question that shows more", () => {
  it.each<[fault: string, Fault, lines: string[]]>([
    [
      "a full disk",
      { outputs: { "stat -f": "4096 100000 2000 1000 1000 900\n" } },
      ["fail disk / (/dev/sda1) is full: 98 % of 391 MiB are used", "→ ask folders"],
    ],
    [
      "a disk that is nearly full",
      {
        outputs: { "stat -f": "4096 100000 9000 8000 1000 900\n" },
        make: () => mounted("/var rw - ext4 /dev/sdb rw"),
      },
      ["warn disk /var (/dev/sdb) is nearly full: 91 % of 391 MiB are used", "→ ask folders path=/var"],
    ],
    [
      "no inodes",
      { outputs: { "stat -f": "4096 100000 80000 80000 1000 0\n" } },
      ["fail disk / (/dev/sda1) is full: 100 % of its inodes (files and folders) are used", "→ ask folders"],
    ],
    [
      "a file system that does not answer",
      { outputs: { "stat -f": "" } },
      ["fail disk / (/dev/sda1) does not work: has not answered within 2 s", "→ ask disks"],
    ],
    [
      "a root that is read-only",
      {
        make: () => {
          write("etc/fstab", "# all\n/dev/sda1 / ext4 defaults 0 1\n");
          mounted("/ ro - ext4 /dev/sda1 rw");
        },
      },
      [
        "fail disk / (/dev/sda1) is read-only, though /etc/fstab mounts it for writing",
        "→ ask logs kernel=yes grep=rror lines=20",
      ],
    ],
    [
      "a unit that has failed",
      {
        outputs: {
          "systemctl show":
            "Id=web.service\nActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=3\n",
        },
      },
      ["fail unit web.service has failed (exit-code, exit code 3)", "→ ask logs unit=web.service lines=20"],
    ],
    [
      "a unit that ends again and again",
      {
        outputs: {
          "systemctl show":
            "Id=a.service\nActiveState=active\n\nId=web@1.service\nActiveState=activating\nSubState=auto-restart\nResult=signal\nNRestarts=41\n",
        },
      },
      [
        "fail unit web@1.service ends again and again (signal; 41 restarts)",
        "→ ask logs unit=web@1.service lines=20",
      ],
    ],
    [
      "a runtime that was stopped",
      {
        outputs: {
          "systemctl show":
            "Id=containerd.service\nActiveState=inactive\nSubState=dead\nResult=success\nUnitFileState=enabled\n",
        },
      },
      [
        "fail unit containerd.service is enabled, but does not run",
        "→ ask logs unit=containerd.service lines=20",
      ],
    ],
    [
      "a runtime whose socket is gone",
      { over: { runtime: { isDocker: false, sockets: ["/no/such/socket"] } } },
      [
        "fail runtime the container runtime does not answer: /no/such/socket: rpc error: code = Unavailable desc = connect ENOENT /no/such/socket",
        "→ ask units",
      ],
    ],
    [
      "Docker that is not installed, but configured",
      { over: { runtime: { isDocker: true, sockets: ["/run/docker.sock"] } } },
      [
        "fail runtime the container runtime does not answer: docker is not installed on this machine",
        "→ ask units",
      ],
    ],
    [
      "a clock that is wrong, and a certificate that has ended",
      {
        over: {
          checkWorker: () =>
            Promise.resolve([
              ok("DNS", "found"),
              fail("TLS", "the certificate ended 3 days ago", "renew it"),
              warn("clock", "90 s ahead of the Worker's", "set it"),
            ]),
        },
      },
      [
        "fail TLS the certificate ended 3 days ago",
        "→ renew it",
        "warn clock 90 s ahead of the Worker's",
        "→ set it",
      ],
    ],
    [
      "a process that uses all CPUs",
      { meanwhile: () => processUses(7, "java", 300, 700_000) },
      ["warn cpu java (process 7) uses 200 % of a CPU, of 2 CPUs", "→ ask processes top=5"],
    ],
    [
      "many processes that use all CPUs",
      { make: () => manyUse(100), meanwhile: () => manyUse(180) },
      ["warn cpu all CPUs are in use: java (process 10) uses 80 % of a CPU", "→ ask processes top=5"],
    ],
    [
      "CPUs for which tasks wait",
      { make: () => pressed("cpu", 55.5), meanwhile: () => processUses(7, "java", 150, 700_000) },
      [
        "warn cpu tasks waited for a CPU for 55.5 % of a minute: java (process 7) uses 50 % of a CPU",
        "→ ask processes top=5",
      ],
    ],
    [
      "too little memory",
      { make: () => write("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 40000 kB\n") },
      [
        "fail memory 39 MiB of 977 MiB are available: java (process 7) uses 684 MiB",
        "→ ask processes by=memory top=5",
      ],
    ],
    [
      "memory for which tasks wait",
      { make: () => pressed("memory", 12) },
      [
        "warn memory tasks waited for memory for 12 % of a minute: java (process 7) uses 684 MiB",
        "→ ask processes by=memory top=5",
      ],
    ],
    [
      "a process that the kernel killed, where its log is not readable",
      { outputs: { _TRANSPORT: "" }, make: () => write("proc/vmstat", "oom_kill 2\n") },
      ["warn memory the kernel killed processes for lack of memory since the boot: 2", "→ ask boots"],
    ],
    [
      "a disk for which tasks wait",
      { make: () => pressed("io", 40), meanwhile: () => processUses(7, "java", 100, 700_000, 9999) },
      [
        "warn disk tasks waited for a disk for 40 % of a minute: java (process 7) reads and writes the most",
        "→ ask processes by=disk top=5",
      ],
    ],
    [
      "processes that the kernel killed",
      {
        outputs: {
          _TRANSPORT: kernelSays(
            "Out of memory: Killed process 812 (java) total-vm:1kB",
            "Memory cgroup out of memory: Killed process 7 (java) total-vm:1kB",
          ),
        },
      },
      [
        `fail memory the kernel killed java for lack of memory: 2 times in the last hour, last at ${RUNS}`,
        "→ ask processes by=memory top=5",
      ],
    ],
    [
      "a disk that breaks",
      { outputs: { _TRANSPORT: kernelSays("I/O error, dev sdb, sector 7 op 0x0:(READ)") } },
      [`fail disk reads or writes of sdb failed: at ${RUNS}`, "→ ask disks"],
    ],
    [
      "a file system that the kernel made read-only",
      { outputs: { _TRANSPORT: kernelSays("EXT4-fs (sdb1): Remounting filesystem read-only") } },
      [`fail disk a file system was made read-only after an error (sdb1): at ${RUNS}`, "→ ask disks"],
    ],
    [
      "a processor that is too hot",
      {
        outputs: {
          _TRANSPORT: kernelSays("mce: CPU3: Core temperature is above threshold, cpu clock is throttled"),
        },
      },
      [`warn heat the processor was throttled for heat (CPU3): at ${RUNS}`, "→ ask hardware"],
    ],
    [
      "a link that was down, and is back",
      {
        outputs: {
          _TRANSPORT: kernelSays("e1000: eth0 NIC Link is Up 1000 Mbps", "e1000: eth0 NIC Link is Down"),
        },
      },
      [`warn link the link eth0 was down: at ${RUNS}`, "→ ask network"],
    ],
    [
      "a cable that is pulled",
      {
        make: () => {
          write("sys/class/net/eth1/device/vendor", "1\n");
          write("sys/class/net/eth1/flags", "0x1003\n");
          write("sys/class/net/eth1/carrier", "0\n");
        },
      },
      ["warn link eth1 has no carrier: check its cable or radio", "→ ask network"],
    ],
    [
      "a link that comes and goes",
      {
        make: () => {
          write("proc/net/route", "Iface\tDestination\neth0\t00000000\t0101A8C0\n");
          write("sys/class/net/eth0/flags", "0x1003\n");
          write("sys/class/net/eth0/carrier", "1\n");
          write("sys/class/net/eth0/carrier_down_count", "3\n");
        },
      },
      ["warn link eth0 lost its carrier 3 times since the boot", "→ ask network"],
    ],
    [
      "heat",
      {
        make: () => {
          const zone = "sys/class/thermal/thermal_zone0";
          write(`${zone}/type`, "cpu\n");
          write(`${zone}/temp`, "96000\n");
          write(`${zone}/trip_point_0_type`, "passive\n");
          write(`${zone}/trip_point_0_temp`, "80000\n");
          write(`${zone}/trip_point_1_type`, "critical\n");
          write(`${zone}/trip_point_1_temp`, "105000\n");
        },
      },
      ["fail heat cpu is at 96 °C, of at most 105 °C", "→ ask hardware"],
    ],
    [
      "a machine that has just started, after a crash of its kernel",
      {
        make: () => {
          write("proc/uptime", "185.10 1.0\n");
          write("sys/fs/pstore/dmesg-efi-1", "");
        },
      },
      [
        "warn boot the machine started 3 minutes ago",
        "→ ask boots",
        "warn boot a crashed kernel has left messages in /sys/fs/pstore",
        "→ ask boots",
      ],
    ],
  ])("%s", async (_, { outputs, over, make, meanwhile }, lines) => {
    make?.();
    expect((await said(outputs, over, meanwhile)).slice(0, lines.length + 1)).toEqual([
      ...lines,
      expect.stringMatching(/^no fault found: /),
    ]);
  });
});

describe("no finding", () => {
  it.each<[situation: string, make: () => void, outputs: Record<string, string>]>([
    [
      "a squashfs, which is always full",
      () => mounted("/snap ro - squashfs /dev/loop0 ro"),
      { "stat -f": "4096 10 0 0 10 0\n" },
    ],
    ["a root that fstab mounts read-only is only named", () => mounted("/boot ro - ext4 /dev/sda1 ro"), {}],
    [
      "a kernel's message of yesterday",
      () => undefined,
      {
        _TRANSPORT:
          kernelSays("ok") +
          kernelSays("Killed process 1 (x)").replace(String(NOW_MS), String(NOW_MS - 86_400_000)),
      },
    ],
    ["an interface of a container that is down", () => write("sys/class/net/veth7/flags", "0x1002\n"), {}],
  ])("%s", async (_, make, outputs) => {
    make();
    expect(await said(outputs)).toEqual([`no fault found: ${NAMES}`]);
  });
});

it("checks that cannot be made, or do not end → said, and no word of the others is lost", async () => {
  const outputs = { "systemctl show": undefined, _TRANSPORT: "" };
  const hung = () => new Promise<never>(() => undefined);
  const run: Asking["run"] = async function* (program, args) {
    if (program === "systemctl") throw new Error("systemctl is not installed on this machine");
    yield* played({ ...SOUND, _TRANSPORT: outputs._TRANSPORT }).run(program, args, {
      signal: new AbortController().signal,
    });
  };
  expect(await said({}, { run, checkWorker: hung })).toEqual([
    "no fault found: disks, runtime, load, links, heat, boot",
    "not checked: units: systemctl is not installed on this machine",
    "not checked: way to the Worker: no answer within 4.5 s",
    "not checked: kernel's log: the journal has no message of the kernel that this user may read",
  ]);
});

it("a mount point that could forge a question → the remedy has no question", async () => {
  mounted(String.raw`/a\040path=/etc rw - ext4 /dev/sdb rw`);
  const lines = await said({ "stat -f": "4096 100000 0 0 1000 900\n" });
  expect(lines.slice(0, 2)).toEqual([
    "fail disk /a path=/etc (/dev/sdb) is full: 100 % of 391 MiB are used",
    "→ ask folders",
  ]);
});

describe("a user of the machine cannot", () => {
  /** The outputs of a machine whose disks are full. */
  const full = "4096 100000 0 0 1000 900\n";

  test.each<[to: string, make: () => void, outputs: Record<string, string>]>([
    [
      "forge a line by the name of a process",
      () => {
        processUses(9, "x\nfail  disk  y", 0, 800_000);
        write("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 40000 kB\n");
      },
      {},
    ],
    [
      "forge one by a process that the kernel kills",
      () => undefined,
      { _TRANSPORT: kernelSays("Out of memory: Killed process 812 (x\n→ ask folders)") },
    ],
  ])("%s", async (_, make, outputs) => {
    make();
    const lines = await said(outputs);
    expect(lines).toHaveLength(3);
    expect(lines.map((line) => line.slice(0, 11))).toEqual(["fail memory", "→ ask proce", "no fault fo"]);
  });

  test("hide a full disk behind file systems that hang", async () => {
    const hung = Array.from({ length: 60 }, (_, at) => `1 0 0:9 / /dead/${at} rw - nfs server:/${at} rw`);
    write("proc/self/mountinfo", [...hung, "1 0 8:1 / / rw - ext4 /dev/sda1 rw", ""].join("\n"));
    const run: Asking["run"] = async function* (program, args, options) {
      if (args.at(-1)?.startsWith("/dead"))
        await new Promise<void>((resolve) => options.signal.addEventListener("abort", () => resolve()));
      else
        yield* played({ ...SOUND, "stat -f": full, _TRANSPORT: kernelSays("") }).run(program, args, options);
    };
    const lines = await said({}, { run });
    expect(lines).toContain("fail disk / (/dev/sda1) is full: 100 % of 391 MiB are used");
    expect(lines).toContainEqual(
      expect.stringMatching(/^warn disk \d+ file systems could not be asked in time/),
    );
  });

  test("hide a disk that breaks behind processes that are killed", async () => {
    const killed = Array.from(
      { length: 50 },
      (_, at) => `Memory cgroup out of memory: Killed process 7 (x${at})`,
    );
    const lines = await said({ _TRANSPORT: kernelSays(...killed, "I/O error, dev sdb, sector 7") });
    expect(lines).toContain(`fail disk reads or writes of sdb failed: at ${RUNS}`);
    expect(lines).toContain(
      `fail memory the kernel killed others for lack of memory: 47 times in the last hour, last at ${RUNS}`,
    );
    expect(lines).toHaveLength(11);
  });

  test("hide what the kernel said before thousands of lines", async () => {
    const lines = await said({
      _TRANSPORT: kernelSays(...Array.from({ length: 5000 }, () => "x: segfault")),
    });
    expect(lines[0]).toBe(
      `warn kernel the kernel has logged 5000 lines since ${RUNS}: older ones were not read`,
    );
  });
});

test("lines of the kernel that are made for it do not keep the answer from coming", async () => {
  const lines = ["a.".repeat(450), "CPU1 temperature ".repeat(55), "a: ".repeat(300)].map(
    (line) => `${line}:`,
  );
  const startedMs = performance.now();
  await said({ _TRANSPORT: kernelSays(...Array.from({ length: 1000 }, (_, at) => lines[at % 3] ?? "")) });
  expect(performance.now() - startedMs).toBeLessThan(4000);
});

describe("a fault that many things have", () => {
  const failed = (id: string) => `Id=${id}\nActiveState=failed\nResult=timeout\n`;

  test("fifty failed units → eight, the runtime's first, and how many more", async () => {
    const units = Array.from({ length: 50 }, (_, at) => failed(`a${at}.service`));
    const lines = await said({ "systemctl show": [...units, failed("containerd.service")].join("\n") });
    expect(lines).toHaveLength(2 * 9 + 1);
    expect(lines[0]).toBe("fail unit containerd.service has failed (timeout)");
    expect(lines.slice(16, 18)).toEqual(["fail unit there are 43 more of these", "→ ask units"]);
  });

  test("a full disk below a hundred containers and other mounts of it → named once", async () => {
    const overlays = Array.from({ length: 100 }, (_, at) => `2 1 0:9 / /c/${at} rw - overlay overlay rw`);
    const again = "3 1 8:1 /x /pods/x rw - ext4 /dev/sda1 rw";
    write("proc/self/mountinfo", ["1 0 8:1 / / rw - ext4 /dev/sda1 rw", again, ...overlays, ""].join("\n"));
    const lines = await said({ "stat -f": "4096 100000 0 0 1000 900\n" });
    expect(lines.filter((line) => line.includes("full"))).toEqual([
      "fail disk / (/dev/sda1) is full: 100 % of 391 MiB are used",
    ]);
  });
});
