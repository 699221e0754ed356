// What stands between machines and the Worker, over plain TCP: it relays, and misbehaves as it is asked to.
import { connect, createServer, type Socket } from "node:net";
import { type Listening, listening } from "../../node-shim/worker-link/connect-proxy.ts";

export interface RelayWays {
  /** A connection on which nothing has come for so long is cut. */
  idleMs?: number;
  /** What it answers to an upgrade: the head, and the body. The Worker does not get it. */
  refusal?: string;
  /** Of what follows the answer to an upgrade nothing reaches the machine. */
  hoards?: boolean;
}

export interface Relay {
  /** For ORIGINS. */
  url: string;
  /** Where the Worker is. */
  passTo: (workerUrl: string) => void;
  /** From here on nothing gets through, in neither direction, and nobody is told. */
  cut: () => void;
  /** What was sent meanwhile arrives, as TCP would have it. */
  mend: () => void;
  close: () => void;
}

/** Connections that open a socket ask for nothing else. */
const UPGRADE = /^GET \/v1\/gateways\//;

export async function startRelay(ways: RelayWays = {}): Promise<Relay> {
  const line = new Line();
  let workerPort = 0;
  const server: Listening = await listening(
    createServer((machine) => line.join(machine, connect(workerPort, "127.0.0.1"), ways)),
  );
  return {
    url: `http://127.0.0.1:${server.port}`,
    passTo: (workerUrl) => void (workerPort = Number(new URL(workerUrl).port)),
    cut: () => line.cut(),
    mend: () => line.mend(),
    close: () => server.close(),
  };
}

/** What is between the two sides, or is not. */
class Line {
  #held: (() => void)[] | null = null;

  cut(): void {
    this.#held ??= [];
  }

  mend(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const pass of held) pass();
  }

  #pass(passed: () => void): void {
    if (this.#held) this.#held.push(passed);
    else passed();
  }

  join(machine: Socket, worker: Socket, { idleMs = 0, refusal, hoards = false }: RelayWays): void {
    let isUpgrade: boolean | undefined;
    let isOpen = false;
    machine.on("data", (bytes: Buffer) => {
      isUpgrade ??= UPGRADE.test(bytes.toString("latin1"));
      if (isUpgrade && refusal !== undefined) machine.end(refusal);
      else this.#pass(() => worker.write(bytes));
    });
    worker.on("data", (bytes: Buffer) => {
      if (isOpen) return;
      this.#pass(() => machine.write(bytes));
      isOpen = isUpgrade === true && hoards;
    });
    for (const [side, other] of [
      [machine, worker],
      [worker, machine],
    ] as const) {
      side.setTimeout(idleMs, () => side.destroy());
      side.on("error", () => undefined).once("close", () => this.#pass(() => other.destroy()));
    }
  }
}
