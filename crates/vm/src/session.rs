//! One guest from its start to its end: reads what it says, and notices when it says nothing any more.

use crate::console::Console;
use crate::error::VmError;
use crate::event::{Event, Outcome};
use crate::guest_result::GuestResult;
use crate::icount_barrier::IcountBarrier;
use crate::kept_boot::KeptBoot;
use crate::protocol::{Decoder, Exited, Message, Report, Trouble};
use crate::qemu::{self, Accelerator, Files, Qemu};
use crate::spec::Spec;
use crate::tail::Tail;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use swtch_units::Observer;

/// How often the guest's words are looked for when there were none.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const BUFFER_BYTES: usize = 256 << 10;
/// What KVM prints when it gives up (QEMU's accel/kvm/kvm-all.c); QEMU then waits for ever.
const KVM_GAVE_UP: &str = "KVM internal error";

/// How a session ended.
pub(crate) enum End {
    Done(Outcome),
    Failed { error: VmError, booted: bool },
}

/// A running guest.
pub(crate) struct Session<'a> {
    spec: &'a Spec,
    accelerator: Accelerator,
    qemu: Qemu,
    complaints: PathBuf,
    icount_barrier: Option<IcountBarrier>,
    boot_timeout: Duration,
    channel: Tail,
    console_file: Tail,
    console: Console,
    decoder: Decoder,
    result: GuestResult,
    began: Instant,
    heard: Instant,
    started: Option<Instant>,
    kernel: Option<String>,
    exited: Option<Exited>,
    trouble: Option<VmError>,
    done: bool,
}

impl<'a> Session<'a> {
    pub(crate) fn start(
        spec: &'a Spec,
        accelerator: Accelerator,
        files: &Files,
        kept: Option<&KeptBoot>,
        boot_timeout: Duration,
        result: GuestResult,
    ) -> Result<Self, VmError> {
        let tail =
            |path: &Path| Tail::create(path).map_err(VmError::system(format!("making {}", path.display())));
        let (channel, console_file) = (tail(&files.channel)?, tail(&files.console)?);
        let began = Instant::now();
        let mut qemu = Qemu::start(spec, accelerator, files)?;
        if let Some(kept) = kept {
            kept.resume(&mut qemu, files)?;
        }
        Ok(Self {
            spec,
            accelerator,
            qemu,
            complaints: files.complaints.clone(),
            icount_barrier: files.icount_barrier.clone(),
            boot_timeout,
            channel,
            console_file,
            console: Console::default(),
            decoder: Decoder::default(),
            result,
            began,
            heard: began,
            started: None,
            kernel: None,
            exited: None,
            trouble: None,
            done: false,
        })
    }

    /// Follows the guest to its end. QEMU is gone when this returns.
    pub(crate) fn follow(mut self, observer: &mut dyn Observer<Event>) -> End {
        match self.until_done(observer) {
            Ok(()) => self.outcome(),
            Err(error) => End::Failed { error, booted: self.kernel.is_some() },
        }
    }

    fn until_done(&mut self, observer: &mut dyn Observer<Event>) -> Result<(), VmError> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            // Asked before the last look at what it has written, so that nothing written before the end is missed.
            let ended = self.qemu.ended();
            let heard = self.listen(&mut buffer, observer)?;
            if self.done {
                return Ok(());
            }
            if heard {
                continue;
            }
            if ended.is_some() {
                return Err(self.why_it_ended());
            }
            if observer.stop() {
                return Err(VmError::Interrupted);
            }
            self.check_patience()?;
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Reads both channels once; whether there was anything.
    fn listen(&mut self, buffer: &mut [u8], observer: &mut dyn Observer<Event>) -> Result<bool, VmError> {
        let fail = || VmError::system("reading what the guest wrote");
        let console_length = self.console_file.read(buffer).map_err(fail())?;
        for line in self.console.push(&buffer[..console_length]) {
            observer.event(&Event::Kernel { line });
        }
        let length = self.channel.read(buffer).map_err(fail())?;
        if length > 0 {
            self.heard = Instant::now();
        }
        self.decoder.push(&buffer[..length]);
        while let Some(message) = self.decoder.next()? {
            self.message(message, observer)?;
        }
        Ok(length + console_length > 0)
    }

    fn message(&mut self, message: Message, observer: &mut dyn Observer<Event>) -> Result<(), VmError> {
        match message {
            Message::Output(stream, bytes) => observer.event(&Event::Output { stream, bytes }),
            Message::Piece(bytes) => self.result.piece(&bytes)?,
            Message::Report(report) => self.report(report, observer)?,
        }
        Ok(())
    }

    fn report(&mut self, report: Report, observer: &mut dyn Observer<Event>) -> Result<(), VmError> {
        match report {
            Report::Booted { kernel, cpus, .. } => {
                self.kernel = Some(kernel.clone());
                if let Some(icount_barrier) = &self.icount_barrier {
                    icount_barrier.check()?;
                }
                observer.event(&Event::Booted { kernel, cpus, after: self.began.elapsed() });
            }
            Report::Scheduler { ops } => observer.event(&Event::Scheduler { ops }),
            Report::Busy { percent } => observer.event(&Event::Busy { percent }),
            Report::Started => {
                self.started = Some(Instant::now());
                observer.event(&Event::Started);
            }
            Report::Exited(exited) => {
                self.exited = Some(exited.clone());
                observer.event(&Event::Exited(exited));
            }
            Report::File(head) => self.result.head(&head)?,
            Report::FileEnd => observer.event(&Event::Returned { path: self.result.end()? }),
            Report::Trouble(trouble) => self.trouble(trouble, observer),
            Report::Done => self.done = true,
            Report::Alive { .. } => {}
        }
        Ok(())
    }

    /// The first error is the one reported at the end; files are still copied back before.
    fn trouble(&mut self, trouble: Trouble, observer: &mut dyn Observer<Event>) {
        let name = |words: &[std::ffi::OsString]| {
            words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let error = match trouble {
            Trouble::Mount { place, why } => return observer.event(&Event::Missing { place, why }),
            Trouble::Slowing { why } => VmError::Slowing { why },
            Trouble::Energy { why } => VmError::Energy { why },
            Trouble::Scheduler { why } => VmError::Scheduler { name: name(&self.spec.scheduler), why },
            Trouble::Command { why } => VmError::Start { command: name(&self.spec.command), why },
            Trouble::Fetch { path, why } => VmError::Fetch { path: path.into(), why },
        };
        self.trouble.get_or_insert(error);
    }

    fn check_patience(&self) -> Result<(), VmError> {
        if self.kernel.is_none() {
            if self.began.elapsed() >= self.boot_timeout
                || qemu::read_complaints(&self.complaints).contains(KVM_GAVE_UP)
            {
                return Err(VmError::NotBooted { limit: self.boot_timeout, last: self.console.quoted() });
            }
        } else if self.heard.elapsed() >= self.spec.silence {
            return Err(VmError::Hung { silence: self.spec.silence, last: self.console.quoted() });
        }
        match (self.started, self.spec.timeout) {
            (Some(started), Some(limit)) if self.exited.is_none() && started.elapsed() >= limit => {
                Err(VmError::Timeout { limit })
            }
            _ => Ok(()),
        }
    }

    /// QEMU has ended though the guest was not done.
    fn why_it_ended(&self) -> VmError {
        if self.kernel.is_some() && self.console.panic().is_none() {
            return VmError::Vanished { last: self.console.quoted() };
        }
        qemu::why_it_ended(&self.console, &self.complaints)
    }

    fn outcome(self) -> End {
        let failed = self.exited.as_ref().is_some_and(|exited| exited.shell_status() != 0);
        // A command that failed says more than a file that it did not write.
        let (trouble, not_returned) = match self.trouble {
            Some(error @ VmError::Fetch { .. }) if failed => (None, Some(error.to_string())),
            other => (other, None),
        };
        match (trouble, self.exited) {
            (None, Some(exited)) => {
                let out_of_memory = (exited.oom_kills > 0).then(|| self.console.quoted());
                let kernel = self.kernel.unwrap_or_default();
                let accelerator = self.accelerator;
                let inputs = String::new();
                End::Done(Outcome { kernel, accelerator, inputs, exited, out_of_memory, not_returned })
            }
            (Some(error), _) => End::Failed { error, booted: true },
            (None, None) => {
                End::Failed { error: VmError::Vanished { last: self.console.quoted() }, booted: true }
            }
        }
    }
}
