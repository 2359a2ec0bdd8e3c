//! Names of cgroups, from their paths: containers, pods, systemd units, user sessions, SLURM jobs.
//!
//! A path of an unknown shape has no name but itself. A name consists of parts of the path, and of what the kubelet's log directories
//! say of the IDs in it. `fixtures/cgroups/names.tsv` has the known shapes and where each is specified.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use swtch_columns::column_of_words;
use swtch_units::words;

/// Digits of a container's ID that a name shows, as `docker ps` does.
const ID_DIGITS: usize = 12;

words! {
    /// What a cgroup holds.
    pub enum CgroupKind("cgroup") {
        /// Something unknown: its path is of no known shape.
        Unknown = "unknown",
        /// The root of the hierarchy.
        Root = "root",
        /// A systemd slice.
        Slice = "slice",
        /// A systemd service.
        Service = "service",
        /// A systemd scope.
        Scope = "scope",
        /// A systemd unit of another type: mount, socket or swap.
        Unit = "unit",
        /// All processes of a user.
        User = "user",
        /// A login session.
        Session = "session",
        /// A container.
        Container = "container",
        /// A pod of Kubernetes or podman.
        Pod = "pod",
        /// All pods of a class of service.
        Pods = "pods",
        /// A SLURM job, or a step or task of one.
        Job = "job",
        /// All SLURM jobs, or those of a user.
        Jobs = "jobs",
    }
}
column_of_words!(CgroupKind);

/// The name of a cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupName {
    /// What it holds.
    pub kind: CgroupKind,
    /// The name, for people; of an unknown shape the path.
    pub name: String,
    /// The pod's namespace.
    pub namespace: Option<String>,
    /// The pod's name.
    pub pod: Option<String>,
    /// The container's name.
    pub container: Option<String>,
    /// ID of the container or pod, or number of the job, whole.
    pub id: Option<String>,
}

/// The names of this machine's pods and their containers, by ID.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodNames {
    /// Namespace and name by UID; nothing for a UID of which two directories say different names.
    pods: HashMap<String, Option<(String, String)>>,
    /// The container's name by its ID.
    containers: HashMap<String, String>,
}

impl PodNames {
    /// Reads what the kubelet says of the pods of this machine: `/var/log/pods/NAMESPACE_POD_UID/` and
    /// `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log`, below `root`. Empty where there is no kubelet.
    ///
    /// The layouts are `BuildPodLogsDirectory` and `legacyLogSymlink` of the kubelet (pkg/kubelet/kuberuntime, Kubernetes 1.31).
    pub fn read(root: &Path) -> Self {
        let mut names = Self::default();
        for entry in entries(&root.join("var/log/pods")) {
            if let [namespace, pod, uid] = entry.split('_').collect::<Vec<_>>()[..]
                && !namespace.is_empty()
                && !pod.is_empty()
                && is_pod_uid(uid, '-')
            {
                let name = Some((namespace.to_owned(), pod.to_owned()));
                let known = names.pods.entry(uid.to_owned()).or_insert_with(|| name.clone());
                if *known != name {
                    *known = None;
                }
            }
        }
        for entry in entries(&root.join("var/log/containers")) {
            let parts: Vec<&str> = entry.strip_suffix(".log").unwrap_or_default().split('_').collect();
            if let [_, _, last] = parts[..]
                && let Some((container, id)) = last.rsplit_once('-')
                && !container.is_empty()
                && is_container_id(id)
            {
                names.containers.insert(id.to_owned(), container.to_owned());
            }
        }
        names
    }

    /// The name of the cgroup at `path`.
    ///
    /// ```
    /// use swtch_trace::{CgroupKind, PodNames};
    /// let name = PodNames::default().name("/system.slice/nginx.service");
    /// assert_eq!((name.kind, name.name.as_str()), (CgroupKind::Service, "nginx.service"));
    /// assert_eq!(PodNames::default().name("/web/worker").kind, CgroupKind::Unknown);
    /// ```
    pub fn name(&self, path: &str) -> CgroupName {
        let unknown = || CgroupName { name: path.to_owned(), ..CgroupName::default() };
        let Some(below) = path.strip_prefix('/') else { return unknown() };
        if below.is_empty() {
            return CgroupName { kind: CgroupKind::Root, ..unknown() };
        }
        let parts: Vec<&str> = below.split('/').collect();
        // The reader's namespace of cgroups does not reach up to such a path's root.
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return unknown();
        }
        self.below(&parts).unwrap_or_else(unknown)
    }

    /// The name of a path below the root of a machine or of a container; nothing if its beginning is unknown.
    fn below(&self, parts: &[&str]) -> Option<CgroupName> {
        let mut found = Found::default();
        let mut rest = parts;
        while let [part, after @ ..] = rest {
            if !found.enter(part, after) {
                break;
            }
            rest = after;
        }
        (found.kind != CgroupKind::Unknown).then(|| self.complete(found, rest))
    }

    /// The name of what was found, with the parts of the path below it that say nothing more of it.
    fn complete(&self, found: Found<'_>, rest: &[&str]) -> CgroupName {
        let mut name =
            CgroupName { kind: found.kind, name: found.text, id: found.id, ..CgroupName::default() };
        if let Some(uid) = &found.pod_uid {
            let pod = match self.pods.get(uid).cloned().flatten() {
                Some((namespace, pod)) => {
                    let text = format!("pod {namespace}/{pod}");
                    (name.namespace, name.pod) = (Some(namespace), Some(pod));
                    text
                }
                None => format!("pod {uid}"),
            };
            name.container = name.id.as_ref().and_then(|id| self.containers.get(id).cloned());
            name.name = match (&name.container, name.kind) {
                (_, CgroupKind::Pod) => pod,
                (Some(container), _) => format!("{pod}: {container}{}", found.role),
                (None, _) => format!("{pod}: {}{}", name.name, found.role),
            };
        } else {
            name.name.push_str(found.role);
        }
        if let Some(user) = found.user
            && found.kind != CgroupKind::User
            && !found.text_has_user
        {
            name.name += &format!(" of user {user}");
        }
        let is_container = found.kind == CgroupKind::Container && found.role.is_empty();
        // crun and LXC keep what is in a container in a cgroup of their own below the container's.
        let own = rest.strip_prefix(&["container"]).or_else(|| rest.strip_prefix(&["ns"]));
        let inner = || self.below(rest).or_else(|| self.below(own?));
        if is_container && let Some(inner) = inner() {
            return CgroupName {
                kind: inner.kind,
                name: format!("{} in {}", inner.name, name.name),
                namespace: inner.namespace.or(name.namespace),
                pod: inner.pod.or(name.pod),
                container: inner.container.or(name.container),
                id: inner.id.or(name.id),
            };
        }
        for part in rest {
            name.name += &format!("/{part}");
        }
        name
    }
}

/// The names of the entries of a directory; nothing where it cannot be read.
fn entries(directory: &Path) -> Vec<String> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    found.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Where a path has led to, and so what the next part may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// The root of a machine or of a container.
    #[default]
    Top,
    /// A systemd slice, or the service manager of a user.
    Slice,
    /// Kubernetes' own cgroup, without systemd.
    Kubepods,
    /// A pod.
    Pod,
    /// Where Docker has its containers without systemd.
    Docker,
    /// Where podman has its containers without systemd.
    Podman,
    /// Where LXC has its containers; their monitors.
    Lxc,
    LxcMonitors,
    /// SLURM's cgroup, that of a user, a job, a step.
    Slurm,
    Job,
    Step,
    /// No shape below it is known.
    End,
}

/// What the parts of a path so far have named.
#[derive(Debug, Default)]
struct Found<'a> {
    place: Place,
    kind: CgroupKind,
    text: String,
    id: Option<String>,
    pod_uid: Option<String>,
    /// ` monitor` for the process that watches over a container.
    role: &'static str,
    user: Option<&'a str>,
    text_has_user: bool,
}

impl<'a> Found<'a> {
    /// Takes the next part of the path; whether it is known in this place.
    fn enter(&mut self, part: &'a str, after: &[&str]) -> bool {
        match self.place {
            Place::Top => self.enter_top(part, after) || self.enter_slice(part),
            Place::Slice => self.enter_slice(part),
            Place::Kubepods => match part.strip_prefix("pod") {
                Some(uid) if is_pod_uid(uid, '-') => self.pod(uid),
                _ if matches!(part, "burstable" | "besteffort") => {
                    self.put(Place::Kubepods, CgroupKind::Pods, format!("kubepods/{part}"))
                }
                _ => false,
            },
            Place::Pod => self.container_unit(part) || self.container_name(part),
            Place::Docker => is_container_id(part) && self.container("docker", part),
            Place::Podman if is_container_id(part) => {
                self.id = Some(part.to_owned());
                self.put(Place::Podman, CgroupKind::Pod, format!("podman pod {}", short(part)))
            }
            Place::Podman => part.starts_with("libpod-") && self.container_name(part),
            Place::Lxc => self.put(Place::End, CgroupKind::Container, format!("lxc {part}")),
            Place::LxcMonitors => self.lxc_monitor(part),
            Place::Slurm | Place::Job | Place::Step => self.enter_slurm(part, after),
            Place::End => false,
        }
    }

    fn put(&mut self, place: Place, kind: CgroupKind, text: String) -> bool {
        (self.place, self.kind, self.text) = (place, kind, text);
        true
    }

    /// What only the root of a machine has: the cgroups of runtimes that do not ask systemd.
    fn enter_top(&mut self, part: &'a str, after: &[&str]) -> bool {
        let next = after.first().copied().unwrap_or_default();
        match part {
            "kubepods" => self.put(Place::Kubepods, CgroupKind::Pods, part.to_owned()),
            // Kubernetes in Docker has all of it in the kubelet's own cgroup.
            "kubelet" if next == "kubepods" => self.put(Place::Top, CgroupKind::Pods, part.to_owned()),
            "docker" if is_container_id(next) => {
                self.put(Place::Docker, CgroupKind::Unknown, part.to_owned())
            }
            "libpod_parent" if !next.is_empty() => {
                self.put(Place::Podman, CgroupKind::Unknown, part.to_owned())
            }
            "lxc" | "lxc.payload" if !next.is_empty() => {
                self.put(Place::Lxc, CgroupKind::Unknown, part.to_owned())
            }
            "lxc.monitor" if !next.is_empty() => {
                self.put(Place::LxcMonitors, CgroupKind::Unknown, part.to_owned())
            }
            _ if part == "slurm" || part.starts_with("slurm_") && next.starts_with("uid_") => {
                self.put(Place::Slurm, CgroupKind::Jobs, part.to_owned())
            }
            _ => match (part.strip_prefix("lxc.payload."), part.strip_prefix("lxc.monitor.")) {
                (Some(name), _) if !name.is_empty() => {
                    self.put(Place::End, CgroupKind::Container, format!("lxc {name}"))
                }
                (_, Some(name)) if !name.is_empty() => self.lxc_monitor(name),
                _ => false,
            },
        }
    }

    fn lxc_monitor(&mut self, name: &str) -> bool {
        self.role = " monitor";
        self.put(Place::End, CgroupKind::Container, format!("lxc {name}"))
    }

    /// A unit of systemd, or a container whose runtime asks systemd for its cgroup.
    fn enter_slice(&mut self, part: &'a str) -> bool {
        // A runtime that makes cgroups itself, told the name that systemd would have: SLICE:PREFIX:ID (runc, libcontainer/cgroups).
        if let [slice, prefix, id] = part.split(':').collect::<Vec<_>>()[..]
            && let Some(stem) = slice.strip_suffix(".slice")
            && is_container_id(id)
            && runtime(prefix).is_some()
        {
            self.pod_uid = pod_of_slice(stem);
            return self.container(prefix, id);
        }
        let Some((stem, ending)) = part.rsplit_once('.').filter(|(stem, _)| is_unit_name(stem)) else {
            return false;
        };
        match ending {
            "slice" => self.slice(part, stem),
            "scope" if stem == "slurmstepd" || stem.ends_with("_slurmstepd") => {
                self.put(Place::Slurm, CgroupKind::Jobs, part.to_owned())
            }
            "scope" => self.container_unit(part) || self.scope(part, stem),
            "service" => match stem.strip_prefix("user@").filter(|user| is_number(user)) {
                Some(user) => {
                    (self.user, self.text_has_user) = (Some(user), true);
                    self.put(Place::Slice, CgroupKind::Service, part.to_owned())
                }
                None => self.unit(Place::End, CgroupKind::Service, part),
            },
            "mount" | "socket" | "swap" => self.unit(Place::End, CgroupKind::Unit, part),
            _ => false,
        }
    }

    fn unit(&mut self, place: Place, kind: CgroupKind, part: &str) -> bool {
        self.text_has_user = false;
        self.put(place, kind, part.to_owned())
    }

    fn slice(&mut self, part: &'a str, stem: &'a str) -> bool {
        if let Some(uid) = pod_of_slice(stem) {
            return self.pod(&uid);
        }
        let user = stem.strip_prefix("user-").filter(|user| is_number(user));
        if let Some(user) = user.filter(|_| self.user.is_none() && self.text == "user.slice") {
            self.user = Some(user);
            return self.put(Place::Slice, CgroupKind::User, format!("user {user}"));
        }
        if let Some((_, id)) = stem.split_once("libpod_pod_").filter(|(_, id)| is_container_id(id)) {
            self.id = Some(id.to_owned());
            self.text_has_user = false;
            return self.put(Place::Slice, CgroupKind::Pod, format!("podman pod {}", short(id)));
        }
        let class = stem.strip_suffix("-burstable").or_else(|| stem.strip_suffix("-besteffort"));
        let all = class.unwrap_or(stem);
        let kind = if all == "kubepods" || all.ends_with("-kubepods") {
            CgroupKind::Pods
        } else {
            CgroupKind::Slice
        };
        self.unit(Place::Slice, kind, part)
    }

    fn scope(&mut self, part: &str, stem: &str) -> bool {
        match stem.strip_prefix("session-") {
            Some(session) if self.kind == CgroupKind::User && is_word(session) => {
                self.put(Place::End, CgroupKind::Session, format!("session {session}"))
            }
            _ => self.unit(Place::End, CgroupKind::Scope, part),
        }
    }

    fn pod(&mut self, uid: &str) -> bool {
        self.pod_uid = Some(uid.to_owned());
        self.id = Some(uid.to_owned());
        self.put(Place::Pod, CgroupKind::Pod, format!("pod {uid}"))
    }

    /// `PREFIX-ID.scope`, as the runtimes name their units.
    fn container_unit(&mut self, part: &str) -> bool {
        part.strip_suffix(".scope").is_some_and(|name| name.contains('-') && self.container_name(name))
    }

    /// `PREFIX-ID`, or the ID alone.
    fn container_name(&mut self, part: &str) -> bool {
        let (prefix, id) = part.rsplit_once('-').unwrap_or(("", part));
        is_container_id(id) && self.container(prefix, id)
    }

    fn container(&mut self, prefix: &str, id: &str) -> bool {
        let (name, role) = match prefix.strip_suffix("-conmon") {
            Some(monitored) => (runtime(monitored), " monitor"),
            None if prefix.is_empty() => (Some(""), ""),
            None => (runtime(prefix), ""),
        };
        let Some(name) = name else { return false };
        self.id = Some(id.to_owned());
        (self.role, self.text_has_user) = (role, false);
        self.put(Place::End, CgroupKind::Container, format!("{name} {}", short(id)).trim_start().to_owned())
    }

    /// `uid_1000/job_7/step_0/task_3` (SLURM, src/plugins/cgroup/v1), `job_7/step_0/user/task_3` (v2).
    fn enter_slurm(&mut self, part: &'a str, after: &[&str]) -> bool {
        if self.place == Place::Step && part == "user" {
            return after.first().is_some_and(|next| next.starts_with("task_"));
        }
        let Some((what, number)) = part.split_once('_').filter(|(_, number)| is_word(number)) else {
            return false;
        };
        match (self.place, what) {
            (Place::Slurm, "uid") if is_number(number) && self.user.is_none() => {
                self.user = Some(number);
                self.put(Place::Slurm, CgroupKind::Jobs, "jobs".to_owned())
            }
            (Place::Slurm, "job") if is_number(number) => {
                self.id = Some(number.to_owned());
                self.put(Place::Job, CgroupKind::Job, format!("job {number}"))
            }
            (Place::Job, "step") => {
                let text = format!("{} step {number}", self.text);
                self.put(Place::Step, CgroupKind::Job, text)
            }
            (Place::Step, "task") if is_number(number) => {
                let text = format!("{} task {number}", self.text);
                self.put(Place::End, CgroupKind::Job, text)
            }
            _ => false,
        }
    }
}

/// The program that names its containers so: runc's systemd driver puts this prefix before the ID.
fn runtime(prefix: &str) -> Option<&'static str> {
    Some(match prefix {
        "docker" => "docker",
        "cri-containerd" => "containerd",
        "crio" => "cri-o",
        "libpod" => "podman",
        "nerdctl" => "nerdctl",
        _ => return None,
    })
}

/// The UID of the pod that a slice is of: `kubepods-burstable-podUID`, whose UID has `_` for `-` (kubelet, cgroup_manager_linux.go).
fn pod_of_slice(stem: &str) -> Option<String> {
    let (before, pod) = stem.rsplit_once('-')?;
    let uid = pod.strip_prefix("pod").filter(|uid| is_pod_uid(uid, '_'))?;
    let is_kubernetes = before.split('-').any(|part| part == "kubepods");
    is_kubernetes.then(|| uid.replace('_', "-"))
}

/// A UUID, or the hash that a pod from a file has for one.
fn is_pod_uid(text: &str, between: char) -> bool {
    let lengths: Vec<usize> = text.split(between).map(str::len).collect();
    (lengths == [8, 4, 4, 4, 12] || lengths == [32])
        && text.chars().all(|c| c == between || matches!(c, '0'..='9' | 'a'..='f'))
}

fn is_container_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn short(id: &str) -> &str {
    &id[..ID_DIGITS]
}

/// What a unit's name may consist of (systemd.unit(5)).
fn is_unit_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-_.\\@".contains(&byte))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests;
