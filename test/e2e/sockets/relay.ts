// A network between machines and the Worker, over plain TCP, that a test cuts.
import { connect, createServer, type Socket } from "node:net";
import { type Listening, listening } from "../../node-shim/worker-link/connect-proxy.ts";

export interface Relay {
  /** For ORIGINS. */
  url: string;
  /** Where the Worker is. */
  passTo: (workerUrl: string) => void;
  /** Nothing passes from now on, in neither direction, and no connection ends. */
  cut: () => void;
  /** What was sent meanwhile arrives, as TCP delivers it. */
  mend: () => void;
  close: () => void;
}

export async function startRelay(): Promise<Relay> {
  let workerPort = 0;
  /** What waits for the network; null: it is not cut. */
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
