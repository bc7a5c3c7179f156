package main

import (
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a process and all that it has started: a job object, which ends them when it is closed.
type group struct{ job windows.Handle }

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// startGroup starts a process that does not run until it is in the job.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	g := &group{job}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		g.release()
		return nil, err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		g.release()
		return nil, err
	}
	failed := cmd.Process.WithHandle(func(handle uintptr) {
		if err = windows.AssignProcessToJobObject(job, windows.Handle(handle)); err != nil {
			return
		}
		if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = windows.NTStatus(status)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		g.release()
		return nil, err
	}
	return g, nil
}

// inShell returns the command that runs a text. cmd.exe does not understand the escapes of an argument.
func inShell(text string) *exec.Cmd {
	cmd := exec.Command("cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /s /c "` + text + `"`}
	return cmd
}

// terminate ends all processes: nothing here asks them to.
func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

// end ends what the group's first process has left.
func (g *group) end(time.Duration) { g.kill() }

func (g *group) release() { _ = windows.CloseHandle(g.job) }
