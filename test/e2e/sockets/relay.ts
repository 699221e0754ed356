// Relays TCP between machines and the Worker; a test can cut the relay.
import { connect, createServer, type Socket } from "node:net";
import { type Listening, listening } from "../../node-shim/worker-link/connect-proxy.ts";

export interface Relay {
  /** The relay's URL, for the Worker's variable ORIGINS. */
  url: string;
  /** Sets the address of the Worker that the relay connects to. */
  passTo: (workerUrl: string) => void;
  /** Stops the relay: from now on no byte passes in either direction, and no connection ends. */
  cut: () => void;
  /** Ends a cut: passes the bytes that were held, and all later ones, as TCP does. */
  mend: () => void;
  close: () => void;
}

export async function startRelay(): Promise<Relay> {
  let workerPort = 0;
  /** The deliveries of bytes that wait while the relay is cut. null while the relay is not cut. */
  let held: (() => void)[] | null = null;
  const pass = (passed: () => void) => {
    if (held) held.push(passed);
    else passed();
  };
  const relayed = (from: Socket, to: Socket) =>
    from
      .on("data", (bytes: Buffer) => pass(() => to.write(bytes)))
      .on("error", () => undefined)
      .once("close", () => pass(() => to.destroy()));
  const server: Listening = await listening(
    createServer((machine) => {
      const worker = connect(workerPort, "127.0.0.1");
      relayed(machine, worker);
      relayed(worker, machine);
    }),
  );
  return {
    url: `http://127.0.0.1:${server.port}`,
    passTo: (workerUrl) => void (workerPort = Number(new URL(workerUrl).port)),
    cut: () => void (held ??= []),
    mend() {
      const passed = held ?? [];
      held = null;
      for (const one of passed) one();
    },
    close: () => server.close(),
  };
}
