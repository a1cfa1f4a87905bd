//! The files that a document means, as text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trilane::config::account::{Account, account_cluster, source_cluster};
use trilane::config::origin::Origin;

use super::account_cluster::{self, Identity};
use super::findings::Findings;
use super::label;
use super::places::Places;
use super::proxy;
use super::secret;
use super::seen::Seen;
use super::source_cluster;
use super::sources::Source;
use super::tls::Authorities;
use super::{authorities, credential, envoy};

/// All that is to be written.
#[derive(Debug, Default)]
pub struct Rendering {
    /// The content of the files of secrets, by their names.
    pub secrets: BTreeMap<String, String>,
    /// The file of clusters.
    pub clusters: Value,
    /// How many accounts there are.
    pub accounts: usize,
}

impl Rendering {
    /// Renders sources, and looks at every file that they name.
    pub fn new(
        sources: &[Source],
        places: &Places,
        findings: &mut Findings,
        seen: &mut Seen,
    ) -> Self {
        let mut renderer = Renderer {
            places,
            findings,
            seen,
            secrets: BTreeMap::new(),
            authorities: BTreeMap::new(),
            absent: Vec::new(),
        };
        renderer.look_at_filter(sources);
        let mut clusters = Vec::new();
        for source in sources {
            clusters.extend(renderer.source(source));
        }
        let version = if renderer.absent.is_empty() {
            "every credential was there".to_owned()
        } else {
            format!("without a credential: {}", renderer.absent.join(" "))
        };
        let mut response = envoy::response("config.cluster.v3.Cluster", clusters);
        if let Some(response) = response.as_object_mut() {
            // Envoy refuses to change a cluster while its credential is missing. Once it is there the file is
            // another for this line, so that running the command again makes up for that.
            response.insert("version_info".to_owned(), Value::String(version));
        }
        Self {
            accounts: sources.iter().map(|s| s.accounts.accounts.len()).sum(),
            secrets: renderer.secrets,
            clusters: response,
        }
    }
}

/// What rendering has come to so far.
struct Renderer<'a> {
    places: &'a Places,
    findings: &'a mut Findings,
    seen: &'a mut Seen,
    secrets: BTreeMap<String, String>,
    /// The files of authorities by their labels, each looked at once.
    authorities: BTreeMap<String, PathBuf>,
    /// The accounts without a credential.
    absent: Vec<String>,
}

impl Renderer<'_> {
    fn source(&mut self, source: &Source) -> Vec<Value> {
        let accounts = &source.accounts.accounts;
        if let [account] = accounts.as_slice() {
            // Nowhere else to go: no need for the way around.
            return self.account(source, 0, account, &source_cluster(&source.group));
        }
        // Envoy takes clusters one after the other, while requests go on: each comes behind those that it leads to.
        let mut clusters = Vec::new();
        for (i, account) in accounts.iter().enumerate() {
            let name = account_cluster(&source.group, &account.id);
            clusters.extend(self.account(source, i, account, &name));
        }
        clusters.extend(source_cluster::clusters(
            &source.group,
            &source.accounts,
            &self.places.filter,
        ));
        clusters
    }

    /// The cluster of an account, behind that of its proxy where it has one.
    fn account(
        &mut self,
        source: &Source,
        i: usize,
        account: &Account,
        cluster: &str,
    ) -> Vec<Value> {
        let proxy = account.proxy.as_ref();
        let proxy = proxy.map(|proxy| (proxy, self.proxy(source, i, account, proxy)));
        let label = label::account(&source.group, &account.id);
        let file = label::secret_file(&source.group, &account.id);
        let at = source.place(i, "credential");
        if let Some(credential) = self.named(&account.credential, &at) {
            self.look_at_credential(
                &credential,
                &at,
                &format!("{}/{}", source.group, account.id),
            );
            let content = secret::credential(&label, &credential);
            self.secrets.insert(file.clone(), text(&content));
        }
        let authorities = account
            .origin
            .tls
            .then(|| self.authorities(account.ca.as_deref(), &source.place(i, "ca")))
            .flatten();
        let own = account_cluster::cluster(
            account,
            &Identity {
                cluster,
                label: &label,
                secret_file: &self.secret_path(&file),
                authorities: authorities.as_ref(),
                proxy: proxy
                    .as_ref()
                    .map(|(proxy, (name, _))| (*proxy, name.as_str())),
            },
        );
        let proxy = proxy.map(|(_, (_, cluster))| cluster);
        proxy.into_iter().chain([own]).collect()
    }

    /// The name and the cluster of an account's proxy.
    fn proxy(
        &mut self,
        source: &Source,
        i: usize,
        account: &Account,
        proxy: &Origin,
    ) -> (String, Value) {
        // Its own `ca` is the account's.
        let authorities = proxy
            .tls
            .then(|| self.authorities(None, &source.place(i, "proxy")))
            .flatten();
        let name = proxy::cluster_name(&source.group, &account.id);
        let label = label::proxy(&source.group, &account.id);
        let cluster = proxy::cluster(proxy, &name, &label, authorities.as_ref());
        (name, cluster)
    }

    /// Without its filter a source with several accounts would not get on from one to the next.
    fn look_at_filter(&mut self, sources: &[Source]) {
        if sources
            .iter()
            .all(|source| source.accounts.accounts.len() < 2)
        {
            return;
        }
        let filter = &self.places.filter;
        self.seen.note(filter);
        if !filter.is_file() {
            let what =
                "is no file: say where the filter is, by the path that Envoy's configuration has";
            self.problem("--filter", &format!("{} {what}", filter.display()));
        }
    }

    fn look_at_credential(&mut self, file: &Path, at: &str, account: &str) {
        let shown = file.display();
        self.seen.note(file);
        match credential::look(file) {
            credential::State::Good => {}
            credential::State::Absent(what) => {
                self.absent.push(account.to_owned());
                self.findings.warnings.push(format!(
                    "{at}: {shown} {what}: account {account} serves nothing until a good one is renamed to that name"
                ));
            }
            credential::State::Unfit(what) => self.problem(
                at,
                &format!("{shown} {what}: write the credential alone, on one line"),
            ),
            credential::State::NoDirectory => self.problem(
                at,
                &format!(
                    "{shown} has no directory: make it before Envoy starts, which never sees one that comes later"
                ),
            ),
        }
    }

    /// The authorities that vouch for an account; `None` where the document names them wrongly.
    fn authorities(&mut self, own: Option<&str>, at: &str) -> Option<Authorities> {
        let (file, at) = match own {
            Some(own) => (self.named(own, at)?, at),
            None => (self.places.system_ca.clone(), "--system-ca"),
        };
        let label = label::authorities(&file);
        let name = format!("{label}.json");
        if !self.authorities.contains_key(&label) {
            self.seen.note(&file);
            if let Err(what) = authorities::look(&file) {
                self.problem(at, &format!("{} {what}", file.display()));
            }
            let content = text(&secret::authorities(&label, &file));
            self.secrets.insert(name.clone(), content);
            self.authorities.insert(label.clone(), file);
        }
        Some(Authorities {
            file: self.secret_path(&name),
            name: label,
        })
    }

    fn named(&mut self, file: &str, at: &str) -> Option<PathBuf> {
        let named = self.places.named(file);
        if named.is_none() {
            self.problem(
                at,
                "begins without a slash: say with --credentials in which directory it is",
            );
        }
        named
    }

    fn secret_path(&self, name: &str) -> String {
        self.places.secrets().join(name).display().to_string()
    }

    fn problem(&mut self, at: &str, what: &str) {
        self.findings.problems.push(format!("{at}: {what}"));
    }
}

/// The content of a file.
pub fn text(value: &Value) -> String {
    format!("{value:#}\n")
}
