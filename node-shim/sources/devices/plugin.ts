// One device plugin: from its registration to the loss of its stream. Keeps no count of devices.
import { failure, type Result, success } from "../../../shared/result.ts";
import { join } from "node:path";
import { type Fault, faultText } from "../../wire/grpc/status.ts";
import { grpcClient } from "../../wire/grpc/client.ts";
import { GET_OPTIONS, LIST_AND_WATCH } from "./api.ts";

/** As upstream: a plugin may register a moment before it listens. */
const DIAL_GIVE_UP_MS = 10_000;
const DIAL_EVERY_MS = 500;

export interface PluginOptions {
  /** The folder of the registration socket. */
  folder: string;
  /** The plugin's socket in it. */
  endpoint: string;
  nowMs: () => number; // monotonic: typically monotonicMs
  sleep: (ms: number) => Promise<void>;
  onList: (devices: readonly { ID: string; health: string }[]) => void;
  /** Once, unless it was closed before. */
  onLost: (why: string) => void;
}

export interface Plugin {
  watch: () => void;
  close: () => void;
}

/** Upstream client.Connect: waits until the plugin answers, or returns why it does not. */
export async function connectPlugin(options: PluginOptions): Promise<Result<Plugin>> {
  const { folder, endpoint, nowMs, sleep } = options;
  const client = grpcClient({ socketPath: join(folder, endpoint), nowMs });
  const fault = await dial(() => client.unary(GET_OPTIONS, {}, DIAL_GIVE_UP_MS), nowMs, sleep);
  if (fault) {
    client.close();
    return failure(`failed to get device plugin options: ${faultText(fault)}`);
  }
  let open = true;
  return success({
    watch() {
      client.serverStream(
        LIST_AND_WATCH,
        {},
        {
          onMessage: ({ devices }) => {
            if (open) options.onList(devices);
          },
          onEnd: (ended) => {
            if (!open) return;
            open = false;
            client.close();
            options.onLost(ended ? faultText(ended) : "it ended its stream");
          },
        },
      );
    },
    close() {
      open = false;
      client.close();
    },
  });
}

/** Like upstream's blocking dial, tries again only while nobody listens. null: the plugin answers. */
async function dial(
  call: () => Promise<Result<unknown, Fault>>,
  nowMs: () => number,
  sleep: (ms: number) => Promise<void>,
): Promise<Fault | null> {
  const startMs = nowMs();
  for (;;) {
    const answer = await call();
    if (answer.ok) return null;
    if (answer.error.code !== "Unavailable" || nowMs() - startMs >= DIAL_GIVE_UP_MS) return answer.error;
    await sleep(DIAL_EVERY_MS);
  }
}
