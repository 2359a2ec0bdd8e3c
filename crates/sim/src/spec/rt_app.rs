//! Files of rt-app.
