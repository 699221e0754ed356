// Limits the machine's settings that determine the apiserver's work: the interval of reports, the period of status
// writes, the duration of the lease, and the number of images. A setting beyond a bound gets the bound's value.
import { DEFAULT_SETTINGS, type Settings } from "../protocol/settings.ts";

/** The deployment's bounds of machines' settings: three minima, and the largest number of images. */
export interface SettingsBounds {
  minReportIntervalMs: number;
  minStatusPeriodMs: number;
  minLeaseSeconds: number;
  maxImages: number;
}

export type BoundedSettings = Pick<
  Settings,
  | "nodeStatusUpdateFrequencyMs"
  | "nodeStatusReportFrequencyMs"
  | "nodeLeaseDurationSeconds"
  | "nodeStatusMaxImages"
>;

export interface WithinBounds<Bounded extends BoundedSettings> {
  /** The bounded settings; the same object if no setting exceeds a bound. */
  settings: Bounded;
  /** The changed settings, by the kubelet's names: `nodeLeaseDurationSeconds 20 instead of 1`. */
  bounded: readonly string[];
}

export function withinBounds<Bounded extends BoundedSettings>(
  asked: Bounded,
  bounds: SettingsBounds,
): WithinBounds<Bounded> {
  const { nodeStatusMaxImages: images = DEFAULT_SETTINGS.nodeStatusMaxImages } = asked;
  // A machine reports four times within its lease, so a shorter lease would make the interval too short.
  const minLeaseSeconds = Math.max(bounds.minLeaseSeconds, Math.ceil(bounds.minReportIntervalMs / 250));
  const inForce = {
    nodeStatusUpdateFrequencyMs: Math.max(asked.nodeStatusUpdateFrequencyMs, bounds.minReportIntervalMs),
    nodeStatusReportFrequencyMs: Math.max(asked.nodeStatusReportFrequencyMs, bounds.minStatusPeriodMs),
    nodeLeaseDurationSeconds: Math.max(asked.nodeLeaseDurationSeconds, minLeaseSeconds),
    nodeStatusMaxImages: images < 0 ? bounds.maxImages : Math.min(images, bounds.maxImages),
  };
  const bounded = differences({ ...asked, nodeStatusMaxImages: images }, inForce);
  return { settings: bounded.length === 0 ? asked : { ...asked, ...inForce }, bounded };
}

/** Returns the message on changed settings for a machine's operator and its history; undefined if there are none. */
export function boundsMessage(bounded: readonly string[]): string | undefined {
  return bounded.length === 0 ? undefined : `bounded by its deployment: ${bounded.join(", ")}`;
}

function differences(asked: Required<BoundedSettings>, inForce: Required<BoundedSettings>): string[] {
  const texts: [name: string, read: (settings: Required<BoundedSettings>) => string][] = [
    ["nodeStatusUpdateFrequency", (settings) => `${settings.nodeStatusUpdateFrequencyMs / 1000}s`],
    ["nodeStatusReportFrequency", (settings) => `${settings.nodeStatusReportFrequencyMs / 1000}s`],
    ["nodeLeaseDurationSeconds", (settings) => String(settings.nodeLeaseDurationSeconds)],
    ["nodeStatusMaxImages", (settings) => String(settings.nodeStatusMaxImages)],
  ];
  return texts.flatMap(([name, read]) => {
    const [was, is] = [read(asked), read(inForce)];
    return was === is ? [] : `${name} ${is} instead of ${was}`;
  });
}
