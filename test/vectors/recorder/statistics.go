// Converts a case's statistics into the summary that the kubelet's statistics provider gives.
package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

func summaryOf(raw any, now time.Time) *statsapi.Summary {
	given, ok := raw.(object)
	if !ok {
		return nil
	}
	at := metav1.NewTime(now)
	summary := &statsapi.Summary{}
	summary.Node.Memory = memoryOf(given["memory"], at)
	summary.Node.Fs = fileSystemOf(given["nodeFs"], at)
	if pods := memoryOf(given["podsMemory"], at); pods != nil {
		summary.Node.SystemContainers = []statsapi.ContainerStats{{Name: statsapi.SystemContainerPods, Memory: pods}}
	}
	images, containers := fileSystemOf(given["imageFs"], at), fileSystemOf(given["containerFs"], at)
	if images != nil || containers != nil {
		summary.Node.Runtime = &statsapi.RuntimeStats{ImageFs: images, ContainerFs: containers}
	}
	if limits, ok := given["rlimit"].(object); ok {
		most, running := countOf(limits["maxPID"]), countOf(limits["running"])
		summary.Node.Rlimit = &statsapi.RlimitStats{Time: at}
		if most != nil {
			limit := int64(*most)
			summary.Node.Rlimit.MaxPID = &limit
		}
		if running != nil {
			processes := int64(*running)
			summary.Node.Rlimit.NumOfRunningProcesses = &processes
		}
	}
	return summary
}

func countOf(raw any) *uint64 {
	if raw == nil {
		return nil
	}
	count := number(raw)
	return &count
}

func memoryOf(raw any, at metav1.Time) *statsapi.MemoryStats {
	given, ok := raw.(object)
	if !ok {
		return nil
	}
	return &statsapi.MemoryStats{
		Time:            at,
		AvailableBytes:  countOf(given["availableBytes"]),
		WorkingSetBytes: countOf(given["workingSetBytes"]),
	}
}

func fileSystemOf(raw any, at metav1.Time) *statsapi.FsStats {
	given, ok := raw.(object)
	if !ok {
		return nil
	}
	return &statsapi.FsStats{
		Time:           at,
		AvailableBytes: countOf(given["availableBytes"]),
		CapacityBytes:  countOf(given["capacityBytes"]),
		InodesFree:     countOf(given["inodesFree"]),
		Inodes:         countOf(given["inodes"]),
	}
}
