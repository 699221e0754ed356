// Reads a Docker daemon through systeminformation, in the form of a CRI runtime's answers. Warns once per outage.
import type { Systeminformation } from "systeminformation";
import { openTrusted } from "../../base/ownership.ts";
import type { CriImage, RuntimeClient, RuntimeClientOptions, StatusAnswer } from "../cri/runtime-client.ts";

type Docker = Pick<typeof import("systeminformation"), "dockerImages" | "dockerInfo">;

/** Loads systeminformation, only with --container-runtime docker: the other shims save its memory. */
async function load(socketPath: string, deadlineMs: number): Promise<Docker> {
  // systeminformation reads the socket and the timeout only from these variables, once, when it is loaded.
  process.env["DOCKER_SOCKET"] = socketPath;
  process.env["DOCKER_SOCKET_TIMEOUT"] = String(deadlineMs);
  // @ts-expect-error -- the package has types for the whole of it only
  const loaded = (await import("systeminformation/lib/docker.js")) as { default: Docker };
  return loaded.default;
}

/** Makes a client for Docker's daemon; call once in a process. For an error, systeminformation returns nothing. */
export function dockerClient({
  socketPath,
  deadlineMs,
  warn,
  onConnect,
}: Pick<RuntimeClientOptions, "socketPath" | "deadlineMs" | "warn" | "onConnect">): RuntimeClient {
  let loading: Promise<Docker> | undefined;
  const docker = () => (loading ??= load(socketPath, deadlineMs));
  let isAbsent = false;
  let isClosed = false;
  let before = "";

  async function info() {
    const distrust = socketFault(socketPath);
    const daemon = distrust === null ? await (await docker()).dockerInfo() : null;
    if (daemon?.serverVersion) {
      isAbsent = false;
      const { serverVersion, dockerRootDir, images } = daemon;
      return { serverVersion, dockerRootDir, images };
    }
    const why = distrust ?? "Docker does not answer: start it, or set --docker-endpoint";
    if (!isAbsent && !isClosed) warn("container runtime", `${socketPath}: ${why}`);
    isAbsent = true;
    return null;
  }

  return {
    async status() {
      const answer = await info();
      if (answer === null) return null;
      const now = `${answer.serverVersion} ${answer.dockerRootDir}`;
      if (now !== before) onConnect();
      before = now;
      return READY;
    },
    async version() {
      const answer = await info();
      return answer && { ...VERSION, runtimeVersion: answer.serverVersion };
    },
    async images() {
      const answer = await info();
      const images = answer === null ? [] : (await (await docker()).dockerImages()).flatMap(imageOf);
      // systeminformation returns an empty list also for a failure: an empty list is wrong if the daemon counts images.
      return answer === null || (images.length === 0 && answer.images > 0) ? null : images;
    },
    imageFsPath: async () => (await info())?.dockerRootDir ?? null,
    isAbsent: () => isAbsent,
    close: () => void (isClosed = true),
  };
}

/** Returns the reason why Docker's socket is not trusted; null if it is trusted or missing. */
function socketFault(path: string): string | null {
  try {
    const opened = openTrusted(path, "socket");
    if (!opened.ok) return `the socket is not trusted: ${opened.error}`;
    opened.value.close();
  } catch {
    // The request to Docker fails as well, and is reported.
  }
  return null;
}

/** The status of every daemon that answers: able to run containers, with its own network, as dockershim without CNI. */
const READY: StatusAnswer = {
  status: {
    conditions: ["RuntimeReady", "NetworkReady"].map((type) => ({
      type,
      status: true,
      reason: "",
      message: "",
    })),
  },
  runtimeHandlers: [],
  features: undefined,
};

const VERSION = { version: "", runtimeName: "docker", runtimeApiVersion: "" };

/** Returns the image in a list; an empty list for an image that was removed after it was listed. */
function imageOf(image: Partial<Systeminformation.DockerImageData> | undefined): CriImage[] {
  const { id, size, repoDigests, repoTags } = image ?? {};
  return id && size !== undefined ? [{ id, size, repoDigests, repoTags }] : [];
}
