// Runs the functions on capacity, reservations, memory and feature gates.
package main

import (
	"sort"
	"sync"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/nodestatus"
)

//go:linkname parseResourceList k8s.io/kubernetes/cmd/kubelet/app.parseResourceList
func parseResourceList(texts map[string]string) (v1.ResourceList, error)

//go:linkname allocatableReservation k8s.io/kubernetes/pkg/kubelet/cm.(*containerManagerImpl).GetNodeAllocatableReservation
func allocatableReservation(manager *containerManager) v1.ResourceList

//go:linkname validateAllocatable k8s.io/kubernetes/pkg/kubelet/cm.(*containerManagerImpl).validateNodeAllocatable
func validateAllocatable(manager *containerManager) error

func init() {
	families["capacityFromMachineInfo"] = func(given object) any {
		capacity := cadvisor.CapacityFromMachineInfo(must(machineOf(given)))
		formats := object{}
		for name, amount := range capacity {
			formats[string(name)] = string(amount.Format)
		}
		return object{"capacity": capacity, "formats": formats}
	}
	families["nodeAllocatable"] = nodeAllocatable
	families["ephemeralStorage"] = func(given object) any {
		return object{"capacity": ephemeralStorage(number(given["bytes"]))}
	}
	families["memoryAvailable"] = func(given object) any {
		left := withoutHugePages(number(given["availableBytes"]), resources(given["capacity"]))
		return object{"availableBytes": decimal(int64(left))}
	}
	families["eventReference"] = eventReferences
	lists["featureGates"] = gates
}

// containerManager has the first fields of cm's containerManagerImpl, in their order.
type containerManager struct {
	sync.RWMutex
	cadvisorInterface [2]unsafe.Pointer
	mountUtil         [2]unsafe.Pointer
	cm.NodeConfig
	status           cm.Status
	systemContainers []unsafe.Pointer
	periodicTasks    []func()
	subsystems       unsafe.Pointer
	nodeInfo         *v1.Node
	cgroupManager    [2]unsafe.Pointer
	capacity         v1.ResourceList
	rest             [64]unsafe.Pointer
}

func nodeAllocatable(given object) any {
	kube, err := parseResourceList(as[map[string]string](given["kubeReserved"]))
	if err != nil {
		return object{"parseError": err.Error()}
	}
	system, err := parseResourceList(as[map[string]string](given["systemReserved"]))
	if err != nil {
		return object{"parseError": err.Error()}
	}
	hard, err := eviction.ParseThresholdConfig(nil, as[map[string]string](given["evictionHard"]), nil, nil, nil)
	if err != nil {
		return object{"parseError": err.Error()}
	}
	manager := &containerManager{capacity: resources(given["capacity"])}
	manager.KubeReserved, manager.SystemReserved = kube, system
	manager.HardEvictionThresholds = hard
	left := v1.ResourceList{}
	for name, amount := range manager.capacity {
		value := amount.DeepCopy()
		for _, reserved := range []v1.ResourceList{system, kube} {
			if taken, ok := reserved[name]; ok {
				value.Sub(taken)
			}
		}
		if value.Sign() < 0 {
			value.Set(0)
		}
		left[name] = value
	}
	return object{
		"parseError":                 nil,
		"reservation":                allocatableReservation(manager),
		"allocatableWithoutEviction": left,
		"validateError":              errorText(validateAllocatable(manager)),
	}
}

// machineCalls has the functions that nodestatus.MachineInfo calls.
type machineCalls struct {
	capacity      func(bool) v1.ResourceList
	devicePlugins func() (v1.ResourceList, v1.ResourceList, []string)
	reservation   func() v1.ResourceList
	recordEvent   func(kind, reason, message string)
}

func machineInfo(given, out object) nodestatus.Setter {
	events := newRecorder()
	out["events"] = events
	out["capacityFuncArg"] = nil
	return setterOfMachineInfo(given, machineCalls{
		capacity: func(isolation bool) v1.ResourceList {
			out["capacityFuncArg"] = isolation
			return resources(given["capacity"])
		},
		devicePlugins: func() (v1.ResourceList, v1.ResourceList, []string) {
			removed := as[[]string](given["removedDevicePlugins"])
			return resources(given["devicePluginCapacity"]), resources(given["devicePluginAllocatable"]), removed
		},
		reservation: func() v1.ResourceList { return resources(given["nodeAllocatableReservation"]) },
		recordEvent: func(kind, reason, message string) {
			events.add(event{kind, reason, message})
		},
	})
}

// eventReferences returns the references of the events that a kubelet records one after another.
func eventReferences(given object) any {
	references := []any{}
	known := []*v1.Node{}
	reference := eventReference(text(given["nodeName"]))
	for _, each := range given["listers"].([]any) {
		known = known[:0]
		if each != nil {
			known = append(known, nodeOf(each))
		}
		references = append(references, reference(known))
	}
	return object{"references": references}
}

var stages = map[string]string{"ALPHA": "alpha", "BETA": "beta", "": "stable", "DEPRECATED": "deprecated"}

func gates() []listedCase {
	needs := utilfeature.DefaultMutableFeatureGate.Dependencies()
	var all []listedCase
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		needed := []string{}
		for _, each := range needs[featuregate.Feature(name)] {
			needed = append(needed, string(each))
		}
		sort.Strings(needed)
		all = append(all, listedCase{name: string(name), want: object{
			"stage":  stages[string(spec.PreRelease)],
			"on":     spec.Default,
			"locked": spec.LockToDefault,
			"needs":  needed,
		}})
	}
	return all
}
