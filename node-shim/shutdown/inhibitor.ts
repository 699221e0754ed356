// Holds a shutdown back for a moment, so that the machine's last report gets out. systemd-inhibit holds logind's file
// descriptor: Node can receive none without native code.
import { spawn } from "node:child_process";

export interface Inhibitor {
  /** Lets the shutdown go on. */
  release: () => void;
}

/** `failed` is called when it cannot be taken, or is lost. Released as well when this process ends, however it ends. */
export function inhibitShutdown(failed: (why: string) => void): Inhibitor {
  const { PATH, DBUS_SYSTEM_BUS_ADDRESS } = process.env;
  const command = ["--what=shutdown", "--mode=delay", "--who=node-shim", `--why=${WHY}`, "cat"];
  const child = spawn("systemd-inhibit", command, {
    // The lock lasts as long as cat reads: until this pipe is closed.
    stdio: ["pipe", "ignore", "ignore"],
    // Nothing of this process's environment that could be a secret.
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
