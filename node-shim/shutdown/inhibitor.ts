// Delays a shutdown for a moment, so that the machine's last report is sent. systemd-inhibit holds logind's file
// descriptor, since Node cannot receive one without native code.
import { spawn } from "node:child_process";

export interface Inhibitor {
  /** Lets the shutdown continue. */
  release: () => void;
}

/** `failed` is called when the lock cannot be taken, or is lost. It is also released when this process ends. */
export function inhibitShutdown(failed: (why: string) => void): Inhibitor {
  const { PATH, DBUS_SYSTEM_BUS_ADDRESS } = process.env;
  const command = ["--what=shutdown", "--mode=delay", "--who=node-shim", `--why=${WHY}`, "cat"];
  const child = spawn("systemd-inhibit", command, {
    // The lock lasts as long as cat reads: until this pipe is closed.
    stdio: ["pipe", "ignore", "ignore"],
    // Passes on nothing of the environment that could be a secret.
    env: { ...(PATH && { PATH }), ...(DBUS_SYSTEM_BUS_ADDRESS && { DBUS_SYSTEM_BUS_ADDRESS }) },
  });
  let isReleased = false;
  const lost = (why: string) => {
    if (!isReleased) failed(why);
    isReleased = true;
  };
  child.once("error", (error: NodeJS.ErrnoException) =>
    lost(`systemd-inhibit cannot be run (${error.code})`),
  );
  child.once("exit", (code, signal) => lost(`systemd-inhibit has ended (${signal ?? code})`));
  child.stdin.on("error", () => undefined);
  child.unref();
  return {
    release() {
      isReleased = true;
      child.stdin.end();
    },
  };
}

/** What `systemd-inhibit --list` shows. */
const WHY = "rollcall tells the cluster that this machine goes down";
