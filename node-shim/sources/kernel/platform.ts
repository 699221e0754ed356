// The name that Go has for a processor.

/** GOARCH where it differs from process.arch. Node has ppc64 for both byte orders; Linux machines are little-endian. */
const ARCHITECTURES: Record<string, string> = {
  x64: "amd64",
  ia32: "386",
  ppc64: "ppc64le",
  mipsel: "mipsle",
};

/** `process.arch` in Go's words, as the label kubernetes.io/arch has it. */
export function architecture(nodeArch: string): string {
  return ARCHITECTURES[nodeArch] ?? nodeArch;
}
