//! `swtch serve`.

mod otlp;

use self::otlp::Exporter;
use crate::args::serve::ServeArgs;
use crate::commands::dump;
use crate::console::interrupted_by;
use crate::output;
use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use swtch_cost::CostModel;
use swtch_http::{Content, Request, Server, WebConfig};
use swtch_record::flight::{FlightRecorder, Notice};
use swtch_record::watch::{self, CHECKED, MachineDelta, MachineWatch};
use swtch_report::prometheus::{
    self, CONTENT_TYPE, Counters, Gauges, GroupUse, KernelCounts, Limits, OLDER_CONTENT_TYPE,
};
use swtch_trace::PodNames;

/// The dashboard.
const DASHBOARD: &str = include_str!("../../web/grafana/swtch.json");
/// A scrape gets a snapshot of at most this age.
const FRESH: Duration = Duration::from_secs(1);
/// How long `--once` watches.
const ONCE: Duration = Duration::from_secs(1);

const INDEX: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>swtch</title></head>\n<body>\n\
    <h1>swtch</h1>\n<p>What context switches cost on this machine.</p>\n\
    <p><a href=\"/metrics\">Metrics</a> for Prometheus</p>\n</body>\n</html>\n";

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if args.dashboard {
        output::print(DASHBOARD);
        return Ok(ExitCode::SUCCESS);
    }
    // Before programs are loaded: a port that is taken should not cost that.
    let mut server = if args.once { None } else { Some(listen(args)?) };
    let ended = interrupted_by(&[SIGINT, SIGTERM, SIGHUP]).context("cannot listen for Ctrl-C")?;
    let mut watch = Watch::begin(args)?;
    // After the capabilities were dropped: its thread needs none.
    let mut exporter = Exporter::begin(&args.otlp)?;
    let Some(server) = &mut server else { return once(&mut watch, &ended) };
    announce(args, server, &watch)?;
    let asked = Arc::new(AtomicBool::new(false));
    if watch.flight.is_some() {
        signal_hook::flag::register(SIGUSR1, Arc::clone(&asked)).context("cannot listen for SIGUSR1")?;
    }
    let mut looked = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        if let Some(flight) = &watch.flight {
            if asked.swap(false, Ordering::Relaxed) {
                flight.dump();
            }
            say(args, flight.notices());
        }
        if let Some(error) = server.refresh() {
            output::complain_text(&format!("swtch: {error}; what was read before counts"));
        }
        let period = watch.machine.period();
        server.poll(period.saturating_sub(looked.elapsed()), &mut |request| watch.page(request));
        if looked.elapsed() >= period {
            looked = Instant::now();
            watch.machine.poll();
            if watch.sampled.elapsed() >= args.interval {
                watch.sample();
            }
            if let Some(exporter) = exporter.as_mut().filter(|exporter| exporter.is_due()) {
                watch.export(exporter);
            }
        }
    }
    if let Some(mut exporter) = exporter {
        watch.export(&mut exporter);
        exporter.end();
    }
    if let Some(flight) = watch.flight.take() {
        say(args, flight.end());
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what became of Traces.
fn say(args: &ServeArgs, notices: Vec<Notice>) {
    for notice in notices {
        match notice {
            Notice::Written { trace, seconds, cause } if args.json => {
                let why = cause.to_string();
                let line = serde_json::json!({ "schema": "swtch/dump/1", "trace": trace, "seconds": seconds, "why": why });
                output::print(&format!("{line}\n"));
            }
            Notice::Written { trace, seconds, cause } => {
                output::print(&format!("Trace: {} ({seconds:.1} s; {cause})\n", trace.display()));
            }
            Notice::Complaint(sentence) => output::complain_text(&format!("swtch: {sentence}")),
        }
    }
}

fn listen(args: &ServeArgs) -> anyhow::Result<Server> {
    let web_config = args.web_config.as_deref().map(WebConfig::read).transpose()?;
    let address = args.listen;
    match Server::bind(address, web_config) {
        Ok(server) => Ok(server),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => bail!(
            "cannot listen on {address}: the port is in use, perhaps by another 'swtch serve'; choose one with --listen {}:PORT",
            address.ip()
        ),
        Err(error) => {
            bail!("cannot listen on {address}: {error}; --listen takes an address of this machine and a port")
        }
    }
}

fn announce(args: &ServeArgs, server: &Server, watch: &Watch) -> anyhow::Result<()> {
    let address = server.address()?;
    if !address.ip().is_loopback() && !server.is_closed() {
        output::complain_text(&format!(
            "swtch: anyone who can connect to {address} can read the names of this machine's cgroups and devices; --listen 127.0.0.1:{} allows only this machine",
            address.port()
        ));
    }
    let scheme = if server.is_tls() { "https" } else { "http" };
    let url = format!("{scheme}://{address}/metrics");
    let (recorder, why) = watch.machine.source();
    if args.json {
        let line =
            serde_json::json!({ "schema": "swtch/serve/1", "url": url, "recorder": recorder, "why": why });
        output::print(&(serde_json::to_string(&line)? + "\n"));
    } else {
        output::print(&format!("Metrics: {url} ({recorder}: {why}); Ctrl-C ends it\n"));
    }
    Ok(())
}

/// The sums since the beginning, brought up to date when asked.
struct Watch {
    machine: MachineWatch,
    flight: Option<FlightRecorder>,
    counters: Counters,
    model: Option<CostModel>,
    begun: Instant,
    sampled: Instant,
    gauges: Gauges,
    /// The text of the last snapshot; made at the first scrape.
    text: Option<Rc<str>>,
    /// Figures that were complained of.
    complained: BTreeSet<String>,
}

impl Watch {
    fn begin(args: &ServeArgs) -> anyhow::Result<Self> {
        let model = if args.no_profile { None } else { output::prices(args.profile.as_deref())? };
        let mut machine = MachineWatch::begin(args.source, args.sample)?;
        // Its threads give up their capabilities themselves.
        let flight = args.keep.options(dump::own_folder)?.map(FlightRecorder::begin).transpose()?;
        machine.drop_capabilities();
        let processes = if args.otlp.otlp.is_some() { args.otlp.max_processes } else { 0 };
        let limits = Limits { cgroups: args.max_cgroups, irqs: args.max_irqs, processes, ..Limits::DEFAULT };
        let mut watch = Self {
            machine,
            flight,
            counters: Counters::new(limits),
            model,
            begun: Instant::now(),
            sampled: Instant::now(),
            gauges: Gauges::default(),
            text: None,
            complained: BTreeSet::new(),
        };
        watch.sample();
        Ok(watch)
    }

    fn page(&mut self, request: Request<'_>) -> Option<Content> {
        const PLAIN: &str = "text/plain; charset=utf-8";
        match request.path {
            "/metrics" => {
                if self.sampled.elapsed() >= FRESH {
                    self.sample();
                }
                let body = self.text();
                if prometheus::wants_older_text(request.accept) {
                    let body = prometheus::older_text(&body).into();
                    return Some(Content { content_type: OLDER_CONTENT_TYPE, body });
                }
                Some(Content { content_type: CONTENT_TYPE, body })
            }
            "/healthz" => Some(Content { content_type: PLAIN, body: "ok\n".into() }),
            "/" => Some(Content { content_type: "text/html; charset=utf-8", body: INDEX.into() }),
            _ => None,
        }
    }

    /// Hands the sums to a receiver of OTLP.
    fn export(&mut self, exporter: &mut Exporter) {
        if self.sampled.elapsed() >= FRESH {
            self.sample();
        }
        let exports = exporter.push(&self.counters, &self.gauges);
        self.counters.set_exports(&exports);
        self.text = None;
    }

    fn text(&mut self) -> Rc<str> {
        let text = self.text.take().unwrap_or_else(|| self.counters.text(&self.gauges).into());
        self.text = Some(Rc::clone(&text));
        text
    }

    /// Looks at everything and adds it to the sums.
    fn sample(&mut self) {
        let started = Instant::now();
        let delta = self.machine.delta();
        let now_ns = self.begun.elapsed().as_nanos() as u64;
        self.add_checks(&delta);
        if delta.checked.is_err() {
            self.sampled = Instant::now();
            self.text = None;
            return;
        }
        self.counters.note_pods(PodNames::read(Path::new("/")));
        let uses: Vec<GroupUse> = delta.groups.iter().map(group_use).collect();
        self.counters.add_group_use(&uses);
        self.counters.note_groups(delta.counted.group_threads.keys());
        let happened = prometheus::Delta {
            trace: delta.tables.view(&delta.header),
            cost_ns_by_kind: delta.counted.cost_ns_by_kind,
            quota_ns: delta.counted.quota_ns.as_ref(),
            group_waits: Some(&delta.counted.group_waits),
        };
        self.counters.add(&happened, self.model.as_ref(), now_ns);
        self.counters.add_processes(delta.tables.view(&delta.header), &otlp::program, now_ns);
        let system = &delta.system;
        self.counters.add_kernel(&KernelCounts {
            context_switches: system.context_switches,
            interrupts: system.interrupts_total,
            forks: system.forks,
        });
        if let Some(flight) = &self.flight {
            self.counters.set_flight(flight.status());
        }
        self.gauges = Gauges {
            threads: delta.counted.threads,
            runnable: system.procs_running,
            blocked: system.procs_blocked,
            group_threads: delta.counted.group_threads.clone(),
            memory_bytes: resident_bytes(),
            bpf_memory_bytes: delta.header.recorder.memory_bytes,
            sampled: delta.header.sampled.get("totals.switch_cost_ns").copied(),
            sample_ns: Some(started.elapsed().as_nanos() as u64),
        };
        self.sampled = Instant::now();
        self.text = None;
    }

    /// Counts what cannot be true, and says so once for each figure.
    fn add_checks(&mut self, delta: &MachineDelta) {
        let refused = delta.checked.as_ref().err();
        let figures: Vec<&str> =
            refused.iter().flat_map(|refused| &refused.figures).map(|it| it.figure.as_str()).collect();
        let why = refused.map(ToString::to_string);
        self.counters.add_checks(&CHECKED, &figures, why.as_deref(), &delta.counted.backwards);
        if let Some(why) = why
            && figures.iter().any(|figure| self.complained.insert((*figure).to_owned()))
        {
            output::complain_text(&format!(
                "swtch: rejected the figures of {:.1} s, which cannot be true: {why}; swtch_rejected_windows_total counts such \
                 intervals; please report this defect",
                delta.header.duration_ns as f64 / 1e9
            ));
        }
    }
}

fn group_use(group: &watch::GroupUse) -> GroupUse {
    let since = &group.since;
    let pressure = since.cpu_pressure.clone().unwrap_or_default();
    GroupUse {
        path: group.path.clone(),
        cpu_ns: since.usage_ns,
        periods: since.throttling.map(|throttling| throttling.periods),
        throttled_periods: since.throttling.map(|throttling| throttling.throttled_periods),
        throttled_ns: since.throttling.map(|throttling| throttling.throttled_ns),
        pressure_ns: [pressure.some_ns, pressure.full_ns],
    }
}

/// Memory of this process (`/proc/self/statm`, the second number, in pages).
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn once(watch: &mut Watch, ended: &AtomicBool) -> anyhow::Result<ExitCode> {
    while watch.begun.elapsed() < ONCE {
        if ended.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        std::thread::sleep(watch.machine.period().min(ONCE));
        watch.machine.poll();
    }
    watch.sample();
    output::print(&watch.text());
    Ok(ExitCode::SUCCESS)
}
