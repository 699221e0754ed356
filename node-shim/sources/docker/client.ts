// Reads a Docker daemon through systeminformation, and returns its answers in the form of a CRI runtime. Warns once
// in each outage.
import type { Systeminformation } from "systeminformation";
import type { CriImage, RuntimeClient, RuntimeClientOptions, StatusAnswer } from "../cri/runtime-client.ts";

type Docker = Pick<typeof import("systeminformation"), "dockerImages" | "dockerInfo">;

/**
 * Loads systeminformation. Only shims with --container-runtime docker load the library, which saves the memory of
 * all other shims.
 */
async function load(socketPath: string, deadlineMs: number): Promise<Docker> {
  // systeminformation reads the socket and the timeout only from these variables, once, when it is loaded.
  process.env["DOCKER_SOCKET"] = socketPath;
  process.env["DOCKER_SOCKET_TIMEOUT"] = String(deadlineMs);
  // @ts-expect-error -- the package has types for the whole of it only
  const loaded = (await import("systeminformation/lib/docker.js")) as { default: Docker };
  return loaded.default;
}

/**
 * Makes a client for Docker's daemon. Must be called once in a process. systeminformation returns nothing for an
 * error and for a missing answer.
 */
export function dockerClient({
  socketPath,
  deadlineMs,
  warn,
  onConnect,
}: Pick<RuntimeClientOptions, "socketPath" | "deadlineMs" | "warn" | "onConnect">): RuntimeClient {
  const docker = load(socketPath, deadlineMs);
  let isAbsent = false;
  let isClosed = false;
  let before = "";

  async function info() {
    const { serverVersion, dockerRootDir, images } = await (await docker).dockerInfo();
    if (serverVersion) {
      isAbsent = false;
      return { serverVersion, dockerRootDir, images };
    }
    if (!isAbsent && !isClosed)
      warn("container runtime", `${socketPath}: Docker does not answer: start it, or set --docker-endpoint`);
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
      const images = answer === null ? [] : (await (await docker).dockerImages()).flatMap(imageOf);
      // systeminformation returns an empty list also for a failure: an empty list is wrong if the daemon counts
      // images.
      return answer === null || (images.length === 0 && answer.images > 0) ? null : images;
    },
    imageFsPath: async () => (await info())?.dockerRootDir ?? null,
    isAbsent: () => isAbsent,
    close: () => void (isClosed = true),
  };
}

/**
 * The status of every daemon that answers: it can run containers and has its own network, like dockershim without a
 * CNI plugin.
 */
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
