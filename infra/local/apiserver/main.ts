// Runs the embedded apiserver until SIGTERM or SIGINT: `node infra/local/apiserver/main.ts`.
import { type Flags, HELP, readFlags, startApiserver } from "./serve.ts";

function fail(message: string): never {
  console.error(`apiserver: ${message}`);
  process.exit(1);
}

function startError(error: unknown, port: number): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && error.code === "EADDRINUSE" ? `port ${port} is already in use` : error.message;
}

async function run({ data, port, nodeLifecycle }: Flags): Promise<void> {
  try {
    const running = await startApiserver({ dir: data, port, nodeLifecycle });
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => void running.stop().then(() => process.exit(0)));
    }
    console.log(`listening on ${running.url}`);
  } catch (error) {
    fail(startError(error, port));
  }
}

const flags = readFlags(process.argv.slice(2));
if (!flags.ok) fail(flags.error);
if (flags.value === "help") console.log(HELP);
else await run(flags.value);
