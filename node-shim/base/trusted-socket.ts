// Connects to unix sockets of this machine that no untrusted user can have put at their path.
import { connect, Socket } from "node:net";
import { codeOf } from "./fault.ts";
import { openTrusted, type OpenTrusted } from "./ownership.ts";

/** Connects to the socket at `path`. Emits an error, with the remedy, if another user can have put the socket there. */
export function connectTrusted(path: string, open: OpenTrusted = openTrusted): Socket {
  try {
    const opened = open(path, "socket");
    if (!opened.ok) return failed(new Error(`the socket is not trusted: ${opened.error}`));
    const { self, close } = opened.value;
    const socket = connect(self);
    // The system has looked the path up when connect() returns.
    close();
    return socket.prependListener("error", (error) => {
      error.message = error.message.replace(self, path);
    });
  } catch (error) {
    const code = codeOf(error);
    return failed(Object.assign(new Error(`connect ${code} ${path}`), { code }));
  }
}

/** Returns a socket that emits the error once its listeners are there. */
function failed(error: Error): Socket {
  const socket = new Socket();
  process.nextTick(() => socket.destroy(error));
  return socket;
}
