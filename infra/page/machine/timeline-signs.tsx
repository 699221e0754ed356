// The signs of marks, one shape for each kind, and the patterns of bands: what is told by colour is told by shape as well.
import type { BandLook } from "./timeline-data.ts";

/** In a square of 16. */
const SHAPES: Readonly<Record<string, string>> = {
  // A person, an arrow that turns back, a diamond, bars, a flag, a hexagon, a plus, a key, a clock, a pin, a cloud, a chip.
  operator:
    "M8 1.500a3.200 3.200 0 1 1 0 6.400 3.200 3.200 0 0 1 0-6.400ZM2 14.500c0-3.500 2.600-5.500 6-5.500s6 2 6 5.500Z",
  reboot: "M8 2.200V0l4.500 3.500L8 7V4.600a4.100 4.100 0 1 0 4.100 4.100h2.400A6.500 6.500 0 1 1 8 2.200Z",
  version: "M8 1l7 7-7 7-7-7Z",
  capacity: "M1.500 9h3.500v6H1.500Zm4.800-4h3.500v10H6.300ZM11 1h3.500v14H11Z",
  phase: "M3 1h2v1h9l-2.500 3.500L14 9H5v6H3Z",
  runtime: "M8 .8l6.300 3.600v7.200L8 15.200l-6.300-3.600V4.400Zm0 3.400L4.700 6v4L8 11.800l3.300-1.800V6Z",
  registration: "M6.200 1h3.600v5.200H15v3.600H9.800V15H6.200V9.800H1V6.200h5.200Z",
  identity:
    "M5 4a4 4 0 0 1 3.800 2.800H15v2.600h-1.500V12H11V9.400H8.800A4 4 0 1 1 5 4Zm0 2.600a1.400 1.400 0 1 0 0 2.800 1.400 1.400 0 0 0 0-2.800Z",
  clock: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-1 2.500V9h4.500V7H9V3.500Z",
  address: "M8 1a5 5 0 0 1 5 5c0 3.500-5 9-5 9S3 9.500 3 6a5 5 0 0 1 5-5Zm0 3a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z",
  cloud: "M4.500 13A3.500 3.500 0 0 1 4 6.100 4.200 4.200 0 0 1 12.100 6.500 3.300 3.300 0 0 1 12 13Z",
  hardware:
    "M3.500 3.500h9v9h-9Zm2-3h1.500v2H5.500Zm3.500 0h1.500v2H9Zm-3.500 13h1.500v2H5.500Zm3.500 0h1.500v2H9ZM.5 5.500h2V7h-2Zm0 3.500h2v1.500h-2Zm13-3.500h2V7h-2Zm0 3.500h2v1.500h-2Z",
  apiserver: "M1 14.500 8 1l7 13.500Z",
  condition: "M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-1 3v5h2V4Zm0 6.200v2h2v-2Z",
};
const OTHER = "M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z";

export function MarkSign({ kind }: { kind: string }) {
  return (
    <svg class="sign" viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
      <path d={SHAPES[kind] ?? OTHER} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}

/** Those that are one colour have none. */
const PATTERNS: readonly { look: BandLook; size: number; path: string }[] = [
  { look: "silent", size: 8, path: "M-2 2 2 -2M0 8 8 0M6 10 10 6" },
  { look: "unknown", size: 6, path: "M3 0V6" },
  { look: "held", size: 6, path: "M0 3H6" },
  { look: "waiting", size: 8, path: "M4 2V6M2 4H6" },
  { look: "off", size: 8, path: "M0 0 8 8M0 8 8 0" },
];

/** Once for all rows. */
export function BandPatterns() {
  return (
    <svg class="timeline-patterns" width="0" height="0" aria-hidden="true">
      <defs>
        {PATTERNS.map(({ look, size, path }) => (
          <pattern
            key={look}
            id={`timeline-${look}`}
            class={`look-${look}`}
            width={size}
            height={size}
            patternUnits="userSpaceOnUse"
          >
            <rect class="ground" width={size} height={size} />
            <path class="drawn" d={path} />
          </pattern>
        ))}
        <pattern id="timeline-none" class="look-none" width="8" height="8" patternUnits="userSpaceOnUse">
          <circle class="dot" cx="2" cy="2" r="0.9" />
          <circle class="dot" cx="6" cy="6" r="0.9" />
        </pattern>
      </defs>
    </svg>
  );
}

export function fillOf(look: BandLook): string | undefined {
  return PATTERNS.some((each) => each.look === look) ? `url(#timeline-${look})` : undefined;
}
