// Tests a shim whose state folder cannot be written: no space, no inodes, read-only. In a mount namespace of root's.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../../node-shim/base/temporary-folder.ts";
import { type MachineFolder, machineFolder, NO_RUNTIME } from "../../../node-shim/cli/machine-folder.ts";

const SHIM = `${process.execPath} ${join(ROOT, "node-shim/bin/node-shim.cjs")}`;
const MINE = [
  "--hostname-override",
  "edge-1",
  ...NO_RUNTIME.map((word) => word || "''"),
  "--inventory",
  "off",
].join(" ");

const mayMount = (() => {
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** Whether this machine can mount an image, and stop the writes of its file system. */
const mayFreeze =
  mayMount &&
  existsSync("/dev/loop0") &&
  ["mkfs.ext4", "fsfreeze"].every((name) => existsSync(`/usr/sbin/${name}`));

let folder: MachineFolder;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = machineFolder();
});
afterEach(() => {
  child?.kill("SIGKILL");
  folder.remove();
});

/** Starts a Worker that accepts everything. Returns its URL; calls `reported` with the number of each report. */
function worker(reported: (count: number) => void): Promise<string> {
  let count = 0;
  return folder.serve((request, response) => {
    const isReport = request.url?.endsWith("report") === true;
    const answer = isReport
      ? { phase: "registered", ready: true, ticket: "t", reportInMs: 100 }
      : { kid: "k", ticket: "t" };
    request.resume().once("end", () => response.end(JSON.stringify(answer)));
    if (isReport) reported(++count);
  });
}

/**
 * Runs an enrolled shim whose state folder is a file system of its own that `spoil` has spoilt. After some reports, runs
 * the commands, and then ends the shim. Returns all output.
 */
async function spoilt(spoil: string, commands: string, more = "", disk = SMALL): Promise<string> {
  await folder.enrol("edge-1");
  const { state, path } = folder;
  const url = await worker((count) => count === 5 && child?.stdin?.end());
  const script = `
    mount -t tmpfs none /run
    mkdir ${path}/disk && ${disk} ${path}/disk && chmod 700 ${path}/disk
    cp ${state}/* ${path}/disk && chmod 600 ${path}/disk/* && STATE=${path}/disk
    ${spoil}
    ${SHIM} run --url ${url} --state $STATE ${MINE} --log-format text --transport http 2> ${path}/log & PID=$!
    trap "kill -KILL $PID 2> /dev/null" EXIT
    while read line; do :; done
    ${commands}
    kill $PID; wait $PID && echo "the shim ended with 0"
    ${more}
    cat ${path}/log`;
  child = spawn("unshare", ["-m", "--propagation", "private", "sh", "-uc", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((done) => child?.once("close", done));
  return text;
}

const SMALL = "mount -t tmpfs -o size=64k,nr_inodes=12 none";
const FULL = "dd if=/dev/zero of=$STATE/fill bs=4096 2> /dev/null";
const NO_INODES = "i=0; while touch $STATE/fill-$i 2> /dev/null; do i=$((i + 1)); done";
/** Stops writes until the file system is thawed, which another process does if the shell ends without doing so. */
const FROZEN = `
  sh -c 'exec 9< $1; while kill -0 $0; do sleep 1; done; fsfreeze -u /dev/fd/9' $$ $STATE < /dev/null > /dev/null 2>&1 &
  fsfreeze -f $STATE`;
const READ_ONLY = "mount -o remount,ro $STATE";

describe.skipIf(!mayMount)("a state folder", () => {
  it.each([
    ["without space", FULL, "ENOSPC"],
    ["without inodes", NO_INODES, "ENOSPC"],
    ["that is read-only", READ_ONLY, "EROFS"],
  ])("%s → the shim starts and reports; its log, status and doctor say so", async (_, spoil, code) => {
    const url = "http://127.0.0.1:1";
    const said = await spoilt(
      spoil,
      `${SHIM} status --state $STATE; echo "status $?"
       ${SHIM} doctor --state $STATE --url ${url} ${MINE} | grep -A1 "state folder\\|enrolment"`,
    );
    expect(said).toMatch(/^edge-1 is Ready\n/);
    expect(said).toContain("status 0\n");
    expect(said).toMatch(new RegExp(`state folder +/.*/disk, cannot be written \\(${code}\\)`));
    expect(said).toMatch(
      new RegExp(
        `warn +state folder +/.*/disk cannot be written \\(${code}\\): the shim reports, but stores nothing`,
      ),
    );
    expect(said).toContain("the shim ended with 0\n");
    expect(said).toMatch(
      new RegExp(`warn state folder: /.*/disk cannot be written \\(${code}\\): the shim reports`),
    );
    expect(said).toMatch(/warn status: .*; \/run\/rollcall-node-shim\/status-\w{12}\.json has the status/);
  });

  it("becomes writable again → the shim takes the lock, and its status is in the folder", async () => {
    const said = await spoilt(
      FULL,
      `rm $STATE/fill; until [ -e $STATE/lock ] && [ -e $STATE/status.json ] && ! ls /run/rollcall-node-shim/*.json 2> /dev/null; do sleep 0.1; done
       ls $STATE; ${SHIM} run --url http://127.0.0.1:1 --state $STATE ${MINE} 2>&1`,
      "ls $STATE",
    );
    expect(said).toMatch(
      /^enrolment.json\nkey.json\nlock\nstatus.json\n(status.json.new\n)?node-shim: .*disk is in use by process \d+/,
    );
  });

  it.skipIf(!mayFreeze)(
    "whose writes hang → the shim starts and reports; takes the lock once they end",
    async () => {
      const image = join(folder.path, "image");
      const said = await spoilt(
        FROZEN,
        // The kernel does not end a process with a write in a frozen file system.
        `until ls /run/rollcall-node-shim/*.json > /dev/null 2>&1; do sleep 0.1; done
         ${SHIM} status --state $STATE > $STATE.said & until grep "is Ready" $STATE.said; do sleep 0.1; done
         ls $STATE; fsfreeze -u $STATE; until [ -e $STATE/lock ]; do sleep 0.1; done`,
        "",
        `truncate -s 4M ${image} && mkfs.ext4 -q ${image} && mount -o loop ${image}`,
      );
      expect(said).toMatch(/^edge-1 is Ready\n/);
      expect(said).toContain("\nenrolment.json\nkey.json\nlost+found\nthe shim ended with 0\n");
      expect(said).toMatch(/warn state folder: .*disk cannot be written \(ETIMEDOUT\): the shim reports/);
    },
  );

  it("without space, and a second shim on it → refused with the first one's process", async () => {
    const said = await spoilt(
      FULL,
      `echo "the first is $PID"; ${SHIM} run --url http://127.0.0.1:1 --state $STATE ${MINE} 2>&1; echo "ended with $?"`,
    );
    const [, first] = /^the first is (\d+)\n/.exec(said) ?? [];
    expect(said).toMatch(
      new RegExp(`\nnode-shim: /.*/disk is in use by process ${first}: .*\nended with 1\n`),
    );
    expect(said).toContain("the shim ended with 0\n");
  });

  it("without space and without a key → ends with one line", async () => {
    const said = await spoilt(
      `rm $STATE/*.json; ${FULL}; exec < /dev/null`,
      'wait $PID; echo "ended with $?"; ls -A $STATE',
    );
    expect(said).toMatch(/^ended with 1\nfill\n/);
    expect(said).toMatch(/node-shim: .*key\.json cannot be written \(ENOSPC\): make room/);
  });
});
