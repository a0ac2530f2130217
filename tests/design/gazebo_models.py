"""Small models of Gazebo for tests: a quadrotor of two files, and an airplane."""

MOTOR = """
<plugin filename="gz-sim-multicopter-motor-model-system" name="gz::sim::systems::MulticopterMotorModel">
  <jointName>rotor_{k}_joint</jointName> <linkName>rotor_{k}</linkName>
  <turningDirection>{sense}</turningDirection> <motorNumber>{k}</motorNumber>
  <timeConstantUp>0.02</timeConstantUp> <timeConstantDown>0.03</timeConstantDown>
  <maxRotVelocity>900</maxRotVelocity>
  <motorConstant>9e-06</motorConstant> <momentConstant>0.02</momentConstant>
  <rotorDragCoefficient>5e-05</rotorDragCoefficient>
  <rollingMomentCoefficient>2e-06</rollingMomentCoefficient>
  <commandSubTopic>command/motor_speed</commandSubTopic>
</plugin>"""

ROTOR = """
<link name="rotor_{k}">
  <pose relative_to="mast">{x} {y} 0.05 0 0 0</pose>
  <inertial><mass>0.01</mass>
    <inertia><ixx>1e-6</ixx><iyy>1e-5</iyy><izz>2e-5</izz></inertia></inertial>
  <collision name="disc"><geometry><cylinder><length>0.01</length><radius>0.1</radius></cylinder></geometry>
  </collision>
</link>
<joint name="rotor_{k}_joint" type="revolute">
  <parent>base</parent> <child>rotor_{k}</child>
  <axis><xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>1e16</upper></limit></axis>
</joint>"""

PLACES = ((0.2, -0.2, "ccw"), (-0.2, 0.2, "ccw"), (0.2, 0.2, "cw"), (-0.2, -0.2, "cw"))

FRAME = f"""<?xml version="1.0"?>
<sdf version="1.9"><model name="frame">
  <pose>0 0 0.3 0 0 0</pose>
  <link name="base">
    <inertial><mass>1.2</mass><inertia><ixx>0.012</ixx><iyy>0.014</iyy><izz>0.02</izz></inertia></inertial>
    <collision name="body"><pose>0 0 0.01 0 0 0</pose>
      <geometry><box><size>0.2 0.15 0.06</size></box></geometry></collision>
    <collision name="foot"><pose>0 0 -0.15 0 0 0</pose>
      <geometry><box><size>0.01 0.01 0.02</size></box></geometry></collision>
    <visual name="look"><geometry><box><size>0.2 0.15 0.06</size></box></geometry></visual>
    <sensor name="imu_sensor" type="imu"><update_rate>200</update_rate>
      <imu><angular_velocity>{
    "".join(
        f'''<{a}><noise type="gaussian"><stddev>0.002</stddev>
        <dynamic_bias_stddev>3e-5</dynamic_bias_stddev>
        <dynamic_bias_correlation_time>900</dynamic_bias_correlation_time></noise></{a}>'''
        for a in "xyz"
    )
}
      </angular_velocity></imu></sensor>
    <sensor name="baro" type="air_pressure"><update_rate>40</update_rate></sensor>
    <sensor name="thermal" type="thermal_camera"/>
  </link>
  <frame name="mast"><pose>0.01 0 0.02 0 0 0</pose></frame>
  {"".join(ROTOR.format(k=k, x=x, y=y) for k, (x, y, _) in enumerate(PLACES))}
</model></sdf>"""

QUAD = f"""<?xml version="1.0"?>
<sdf version="1.9"><model name="my_quad">
  <include merge="true"><uri>model://frame</uri></include>
  <include><uri>model://payload</uri><name>cargo</name>
    <placement_frame>hook</placement_frame><pose relative_to="base">0 0 -0.1 0 0 0</pose></include>
  <joint name="rope" type="fixed"><parent>base</parent><child>cargo::box</child></joint>
  {"".join(MOTOR.format(k=k, sense=sense) for k, (_, _, sense) in enumerate(PLACES))}
  <plugin filename="MotorFailurePlugin" name="gz::sim::systems::MotorFailureSystem"/>
</model></sdf>"""

PAYLOAD = """<?xml version="1.0"?>
<sdf version="1.7"><model name="payload">
  <link name="box"><pose degrees="true">1 2 3 0 0 90</pose>
    <inertial><pose>0.02 0 0 0 0 0</pose><mass>0.3</mass>
      <inertia><ixx>0.001</ixx><iyy>0.002</iyy><izz>0.0025</izz></inertia></inertial>
    <sensor name="lens" type="camera"><pose>0.1 0 0 0 0 0</pose><update_rate>15</update_rate>
      <camera><horizontal_fov>1.2</horizontal_fov>
        <image><width>64</width><height>48</height></image></camera></sensor>
    <sensor name="beam" type="gpu_lidar"><pose>0 0 0 0 1.5707963267948966 0</pose>
      <ray><scan><horizontal><samples>1</samples></horizontal></scan>
        <range><min>0.2</min><max>30</max></range></ray></sensor>
  </link>
  <frame name="hook" attached_to="box"><pose>0 0 0.05 0 0 0</pose></frame>
</model></sdf>"""

WING = """
<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag">
  <link_name>base</link_name> <a0>{a0}</a0> <cla>4.5</cla> <cda>0.3</cda> <area>{area}</area>
  <alpha_stall>0.3</alpha_stall> <cla_stall>-3.0</cla_stall> <cda_stall>-0.5</cda_stall>
  <cp>{cp}</cp> <forward>1 0 0</forward> <upward>{upward}</upward>
  <control_joint_name>{joint}</control_joint_name> <control_joint_rad_to_cl>{gain}</control_joint_rad_to_cl>
</plugin>"""

FLAP = """
<link name="{name}"><pose>{place} 0 0 0</pose>
  <inertial><mass>1e-6</mass><inertia><ixx>1e-8</ixx><iyy>1e-8</iyy><izz>1e-8</izz></inertia></inertial></link>
<joint name="{name}_joint" type="revolute"><parent>base</parent><child>{name}</child>
  <axis><xyz>{axis}</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit>
    <dynamics><damping>0.4</damping></dynamics></axis></joint>
<plugin filename="gz-sim-joint-position-controller-system" name="gz::sim::systems::JointPositionController">
  <joint_name>{name}_joint</joint_name><sub_topic>servo_{k}</sub_topic>
  <p_gain>10</p_gain><i_gain>0</i_gain><d_gain>0.1</d_gain><cmd_max>2</cmd_max></plugin>"""

WHEEL = """
<link name="{name}"><pose>{place} 0 0 0</pose>
  <inertial><mass>0.02</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia></inertial>
  <collision name="tyre"><geometry><sphere><radius>0.04</radius></sphere></geometry></collision></link>
<joint name="{name}_joint" type="revolute"><parent>base</parent><child>{name}</child>
  <axis><xyz>0 1 0</xyz></axis></joint>"""

AIRPLANE = f"""<?xml version="1.0"?>
<sdf version="1.6"><model name="my_airplane">
  <link name="base">
    <inertial><mass>1.4</mass><inertia><ixx>0.15</ixx><iyy>0.12</iyy><izz>0.2</izz></inertia></inertial>
    <collision name="fuselage"><geometry><box><size>0.8 0.1 0.1</size></box></geometry></collision>
    <sensor name="pitot" type="air_speed"><update_rate>20</update_rate></sensor>
  </link>
  <link name="rotor_0"><pose>0.35 0 0 0 1.5707963267948966 0</pose>
    <inertial><mass>0.01</mass><inertia><ixx>1e-6</ixx><iyy>1e-5</iyy><izz>1e-5</izz></inertia></inertial>
    <collision name="disc"><geometry><box><size>0.24 0.02 0.01</size></box></geometry></collision></link>
  <joint name="rotor_0_joint" type="continuous"><parent>base</parent><child>rotor_0</child>
    <axis><xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis></joint>
  {MOTOR.format(k=0, sense="cw").replace("9e-06", "1.6e-05")}
  {FLAP.format(name="left_aileron", place="-0.05 0.45 0", axis="0 1 0", k=1)}
  {FLAP.format(name="right_aileron", place="-0.05 -0.45 0", axis="0 1 0", k=0)}
  {FLAP.format(name="elevator", place="-0.6 0 0", axis="0 1 0", k=2)}
  {FLAP.format(name="rudder", place="-0.6 0 0.1", axis="0 0 1", k=3)}
  {WING.format(joint="left_aileron_joint", a0=0.05, area=0.15, cp="0 0.4 0.02", upward="0 0 1", gain=-0.4)}
  {WING.format(joint="right_aileron_joint", a0=0.05, area=0.15, cp="0 -0.4 0.02", upward="0 0 1", gain=-0.4)}
  {WING.format(joint="elevator_joint", a0=-0.02, area=0.06, cp="-0.6 0 0", upward="0 0 1", gain=-2.0)}
  {WING.format(joint="rudder_joint", a0=0.0, area=0.03, cp="-0.6 0 0.05", upward="0 1 0", gain=1.0)}
  {WHEEL.format(name="left_wheel", place="0.05 0.2 -0.15")}
  {WHEEL.format(name="right_wheel", place="0.05 -0.2 -0.15")}
  {WHEEL.format(name="tail_wheel", place="-0.5 0 -0.12")}
</model></sdf>"""


def write(folder, **models):
    """Write models as NAME/model.sdf into a folder, and return it."""
    for name, text in models.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "model.sdf").write_text(text)
    return folder


def quad(folder):
    """Write the quadrotor and what it includes, and return its folder."""
    return write(folder, my_quad=QUAD, frame=FRAME, payload=PAYLOAD) / "my_quad"


def airplane(folder):
    """Write the airplane, and return its folder."""
    return write(folder, my_airplane=AIRPLANE) / "my_airplane"
