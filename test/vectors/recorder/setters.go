// Runs the setters of the node-status pipeline (nodestatus), each on the Nodes of a case.
package main

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe"

	v1 "k8s.io/api/core/v1"
	_ "k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

// rebootEvent lets nodestatus record a reboot once in each process. Each case is a process of its own.
//
//go:linkname rebootEvent k8s.io/kubernetes/pkg/kubelet/nodestatus.rebootEvent
var rebootEvent sync.Once

// version is the version that the program's Nodes show.
//
//go:linkname version k8s.io/component-base/version.dynamicGitVersion
var version atomic.Value

func init() {
	families["nodeAddress"] = setter(nodeAddress)
	families["machineInfo"] = setter(machineInfo)
	families["versionInfo"] = setter(versionInfo)
	families["daemonEndpoints"] = setter(func(given, _ object) nodestatus.Setter {
		endpoints := as[v1.NodeDaemonEndpoints](given["daemonEndpoints"])
		return nodestatus.DaemonEndpoints(&endpoints)
	})
	families["images"] = setter(images)
	families["goRuntime"] = setter(func(given, _ object) nodestatus.Setter {
		requirePlatform(given)
		return nodestatus.GoRuntime()
	})
	families["runtimeHandlers"] = setter(runtimeHandlers)
	families["nodeFeatures"] = setter(func(given, _ object) nodestatus.Setter {
		return nodestatus.NodeFeatures(func() *kubecontainer.RuntimeFeatures {
			features, ok := given["features"].(object)
			if !ok {
				return nil
			}
			return &kubecontainer.RuntimeFeatures{SupplementalGroupsPolicy: truth(features["supplementalGroupsPolicy"])}
		})
	})
	families["memoryPressure"] = pressure(nodestatus.MemoryPressureCondition)
	families["diskPressure"] = pressure(nodestatus.DiskPressureCondition)
	families["pidPressure"] = pressure(nodestatus.PIDPressureCondition)
	families["ready"] = setter(ready)
	families["volumesInUse"] = setter(func(given, _ object) nodestatus.Setter {
		return nodestatus.VolumesInUse(
			func() bool { return truth(given["synced"]) },
			func() []v1.UniqueVolumeName { return as[[]v1.UniqueVolumeName](given["volumes"]) },
		)
	})
}

// asksDNS is true once a setter has asked for a name's addresses, whose order this program cannot fake.
var asksDNS atomic.Bool

func init() {
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			asksDNS.Store(true)
			return nil, errors.New("no name server")
		},
	}
}

// requirePlatform keeps the cases of platforms for which this program was not compiled.
func requirePlatform(given object) {
	if given["goos"] != runtime.GOOS || given["goarch"] != runtime.GOARCH {
		notRun()
	}
}

// setter returns a family that runs one setter on a case's Node, or on each of its Nodes. `build` adds to the outcome.
func setter(build func(given, out object) nodestatus.Setter) family {
	return func(given object) any {
		rebootEvent = sync.Once{}
		asksDNS.Store(false)
		out := object{}
		set := build(given, out)
		if nodes, ok := given["nodes"].([]any); ok {
			var all []any
			for _, each := range nodes {
				node := nodeOf(each)
				err := set(context.Background(), node)
				all = append(all, object{"node": node, "error": errorText(err)})
			}
			out["nodes"] = all
		} else {
			node := nodeOf(given["node"])
			err := set(context.Background(), node)
			out["node"], out["error"] = node, errorText(err)
		}
		if asksDNS.Load() {
			notRun()
		}
		for key, value := range out {
			if recorded, ok := value.(*recorder); ok {
				out[key] = recorded.events
			}
		}
		return out
	}
}

type recordStatusEvent = func(klog.Logger, string, string)

func statusEvents(out object) recordStatusEvent {
	recorded := newRecorder()
	out["events"] = recorded
	return func(_ klog.Logger, kind, reason string) { recorded.add(object{"type": kind, "reason": reason}) }
}

func clockOf(given object) func() time.Time {
	now := instant(given["now"])
	return func() time.Time { return now }
}

func pressure(of func(func() time.Time, func() bool, recordStatusEvent) nodestatus.Setter) family {
	return setter(func(given, out object) nodestatus.Setter {
		return of(clockOf(given), func() bool { return truth(given["pressure"]) }, statusEvents(out))
	})
}

func ready(given, out object) nodestatus.Setter {
	softRequirements := func() cm.Status { return cm.Status{SoftRequirements: failure(given["softRequirements"])} }
	failing := func(name string) func() error { return func() error { return failure(given[name]) } }
	return nodestatus.ReadyCondition(
		clockOf(given),
		failing("runtimeErrors"),
		failing("networkErrors"),
		failing("storageErrors"),
		softRequirements,
		failing("nodeShutdownManagerErrors"),
		statusEvents(out),
		truth(given["localStorageCapacityIsolation"]),
	)
}

func nodeAddress(given, out object) nodestatus.Setter {
	if nodeOf(given["node"]).Name == "" {
		notRun() // A lookup of no name asks no server.
	}
	calls := newRecorder()
	out["calls"] = calls
	var nodeIPs []net.IP
	for _, each := range given["nodeIPs"].([]any) {
		nodeIPs = append(nodeIPs, address(each))
	}
	validate := func(ip net.IP) error {
		calls.add(object{"call": "validate", "ip": ip.String()})
		faults, _ := given["validateErrors"].(object)
		return failure(faults[ip.String()])
	}
	resolve := func(ip net.IP) (net.IP, error) {
		call := object{"call": "resolve", "ip": nil}
		if ip != nil {
			call["ip"] = ip.String()
		}
		calls.add(call)
		resolved := given["resolve"].(object)
		return address(resolved["ip"]), failure(resolved["error"])
	}
	return nodestatus.NodeAddress(nodeIPs, validate, given["hostname"].(string), truth(given["externalCloudProvider"]), resolve)
}

func versionInfo(given, _ object) nodestatus.Setter {
	version.Store(given["kubeletVersion"].(string))
	return nodestatus.VersionInfo(
		versionsOf(given),
		func() string { return text(given["runtimeType"]) },
		func(context.Context) (kubecontainer.Version, error) {
			if err := failure(given["runtimeVersionError"]); err != nil {
				return nil, err
			}
			return runtimeVersion(text(given["runtimeVersion"])), nil
		},
	)
}

// runtimeVersion is a container runtime's version that is its own text.
type runtimeVersion string

func (v runtimeVersion) String() string              { return string(v) }
func (v runtimeVersion) Compare(string) (int, error) { return 0, nil }

func images(given, _ object) nodestatus.Setter {
	return nodestatus.Images(int32(given["nodeStatusMaxImages"].(float64)), func() ([]kubecontainer.Image, error) {
		if err := failure(given["imagesError"]); err != nil {
			return nil, err
		}
		var list []kubecontainer.Image
		all, _ := given["images"].([]any)
		for _, each := range all {
			image := each.(object)
			list = append(list, kubecontainer.Image{
				RepoTags:    as[[]string](image["repoTags"]),
				RepoDigests: as[[]string](image["repoDigests"]),
				Size:        int64(image["size"].(float64)),
			})
		}
		return list, nil
	})
}

func runtimeHandlers(given, _ object) nodestatus.Setter {
	return nodestatus.RuntimeHandlers(func() []kubecontainer.RuntimeHandler {
		all, ok := given["handlers"].([]any)
		if !ok {
			return nil
		}
		handlers := []kubecontainer.RuntimeHandler{}
		for _, each := range all {
			handler := each.(object)
			handlers = append(handlers, kubecontainer.RuntimeHandler{
				Name:                            text(handler["name"]),
				SupportsRecursiveReadOnlyMounts: truth(handler["supportsRecursiveReadOnlyMounts"]),
				SupportsUserNamespaces:          truth(handler["supportsUserNamespaces"]),
			})
		}
		return handlers
	})
}
